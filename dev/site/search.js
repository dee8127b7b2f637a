// Lunr reads a word that begins with a minus as one to leave out, and two of them as an error: "--verify" found nothing. Here, options are words.
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
    const isQuery = typeof message?.data === "string";
    post.call(this, isQuery ? {...message, data: message.data.replace(/(^|\s)-+(?=\S)/g, "$1")} : message, ...rest);
};
