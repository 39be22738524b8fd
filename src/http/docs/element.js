/* global document */
/** Everything is built with text nodes, so nothing that the document or an answer says can become markup. */
export const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
