'use strict';
/* The key `/` leads to the search, wherever nothing is being typed. */
document.addEventListener('keydown', (event) => {
  const isTyping =
    event.target instanceof Element && event.target.closest('input, select, textarea, [contenteditable]');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById('q');
  if (!search) return;
  event.preventDefault();
  search.focus();
});
