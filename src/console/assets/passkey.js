'use strict';
/* The passkey ceremony, which a form cannot do without a script. It signs the texts exactly as the page shows them. */

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
const textOf = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const challengeOf = async (text) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

/** The texts that the page shows. */
const texts = (form) => [...form.querySelectorAll('[data-text]')].map((element) => element.textContent);

const fields = (form, prefix) => [...form.elements].filter((element) => element.name.startsWith(prefix));

const named = (ids = '') =>
  ids
    .split(' ')
    .filter(Boolean)
    .map((id) => ({ type: 'public-key', id: bytesOf(id) }));

async function sign(form, text) {
  const credential = await navigator.credentials.get({
    publicKey: {
      challenge: await challengeOf(text),
      rpId: form.dataset.rp,
      userVerification: 'required',
      allowCredentials: named(form.dataset.allow),
    },
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return JSON.stringify({
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: textOf(clientDataJSON),
      authenticatorData: textOf(authenticatorData),
      signature: textOf(signature),
      ...(userHandle ? { userHandle: textOf(userHandle) } : {}),
    },
    clientExtensionResults: {},
  });
}

async function register(form, text) {
  const { rp, user, name } = form.dataset;
  const credential = await navigator.credentials.create({
    publicKey: {
      challenge: await challengeOf(text),
      rp: { id: rp, name: 'Quittance' },
      user: { id: new TextEncoder().encode(user), name, displayName: name },
      pubKeyCredParams: [
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -8 },
      ],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: named(form.dataset.known),
    },
  });
  return JSON.stringify({
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response: {
      clientDataJSON: textOf(credential.response.clientDataJSON),
      attestationObject: textOf(credential.response.attestationObject),
    },
    clientExtensionResults: {},
  });
}

for (const form of document.querySelectorAll('form[data-sign], form[data-register]')) {
  const problem = form.querySelector('.problem');
  const ceremony = 'register' in form.dataset ? register : sign;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      const responses = fields(form, 'response-');
      for (const [index, text] of texts(form).entries()) responses[index].value = await ceremony(form, text);
      for (const zone of form.querySelectorAll('input[name=zone]'))
        zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
      form.submit();
    } catch (error) {
      const words = JSON.parse(form.dataset.words);
      problem.textContent = (words[error.name] ?? words.other).replace('{0}', () => error.message);
      problem.hidden = false;
      button.disabled = false;
    }
  });
}
