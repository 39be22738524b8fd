/* global document */
/** Builds everything with text nodes, so that nothing in the document or a response can become markup. */
export const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
