'use strict';
/* Puts the file that was chosen into the field that the form sends, as base64. */

for (const input of document.querySelectorAll('input[type=file][data-into]'))
  input.addEventListener('change', () => {
    const field = input.form.elements[input.dataset.into];
    field.value = '';
    const [file] = input.files;
    if (!file) return;
    const reader = new FileReader();
    reader.addEventListener('load', () => (field.value = reader.result.slice(reader.result.indexOf(',') + 1)));
    reader.readAsDataURL(file);
  });
