/* global document, window, crypto, TextEncoder, URLSearchParams */
// Shows the OpenAPI document and sends signed requests to this server.
import { element } from './element.js';
import { codeTabs } from './samples.js';
import { describe, fieldTable } from './schema.js';

const pretty = (value) => JSON.stringify(value, null, 2);
const credentials = () => ({
  key: document.getElementById('api-key').value.trim(),
  secret: document.getElementById('api-secret').value.trim(),
});

/** HMAC-SHA256 of `timestamp.nonce.body` in hex, as the server verifies it. */
async function signature(secret, timestamp, nonce, body) {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(`${timestamp}.${nonce}.${body}`)));
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function send(names, method, path, body) {
  const { key, secret } = credentials();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = crypto.randomUUID();
  const headers = {
    Authorization: `Bearer ${key}`,
    [names.timestamp]: timestamp,
    [names.nonce]: nonce,
    [names.signature]: await signature(secret, timestamp, nonce, body),
  };
  if (method !== 'GET') headers['Content-Type'] = 'application/json';
  const response = await window.fetch(path, { method, headers, body: body === '' ? undefined : body });
  const text = await response.text();
  let shown = text;
  try {
    shown = pretty(JSON.parse(text));
  } catch {
    // Shown unformatted.
  }
  return `${response.status} ${response.statusText}\n\n${shown}`;
}

function field(id, labelText, input) {
  return [element('label', { htmlFor: id, textContent: labelText }), Object.assign(input, { id, name: id })];
}

function parameterTable(api, parameters) {
  const rows = parameters.map(({ name, in: place, description, schema, required }) =>
    element(
      'tr',
      {},
      element('td', {}, element('code', { textContent: name })),
      element('td', { textContent: required ? `${place}, required` : place }),
      element('td', { textContent: (description ?? describe(api, schema)).replaceAll('`', '') }),
    ),
  );
  const head = element(
    'tr',
    {},
    ...['Parameter', 'In', 'Meaning'].map((textContent) => element('th', { textContent, scope: 'col' })),
  );
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
}

function errorTable(responses) {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== '200')
    .flatMap(([status, { content }]) =>
      Object.entries(content['application/json'].examples ?? {}).map(([code, { value }]) =>
        element(
          'tr',
          {},
          element('td', { textContent: status }),
          element('td', {}, element('a', { href: `/docs/errors#${code}` }, element('code', { textContent: code }))),
          element('td', { textContent: value.error.message }),
        ),
      ),
    );
  const head = element(
    'tr',
    {},
    ...['Status', 'Code', 'Meaning'].map((textContent) => element('th', { textContent, scope: 'col' })),
  );
  return element(
    'details',
    {},
    element('summary', { textContent: 'Errors' }),
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

/** The form that fills in the parameters, signs and sends. */
function tryForm(names, method, path, operation) {
  const parameters = operation.parameters ?? [];
  const inputs = new Map();
  const form = element('form', { autocomplete: 'off' });
  for (const { name, in: place, required } of parameters.filter((parameter) => parameter.in !== 'header')) {
    const input = element('input', { required: required === true, spellcheck: false });
    inputs.set(`${place}:${name}`, input);
    form.append(...field(`${operation.operationId}-${name}`, name, input));
  }
  const example = operation.requestBody?.content['application/json'].example;
  const body =
    operation.requestBody &&
    element('textarea', { rows: 8, spellcheck: false, value: example ? pretty(freshOrder(example)) : '' });
  if (body) form.append(...field(`${operation.operationId}-body`, 'Body', body));
  const output = element('pre', { hidden: true, tabIndex: 0 });
  output.setAttribute('aria-live', 'polite');
  form.append(element('button', { type: 'submit', textContent: 'Sign and send' }), output);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = 'Sending.';
    if (!testKeyGiven()) return void (output.textContent = 'Fill in an sk_test_ key and its secret first.');
    const value = (place, name) => inputs.get(`${place}:${name}`)?.value ?? '';
    const target = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(value('path', name)));
    const query = new URLSearchParams(
      parameters
        .filter((one) => one.in === 'query' && value('query', one.name) !== '')
        .map((one) => [one.name, value('query', one.name)]),
    );
    output.textContent = await send(
      names,
      method,
      query.size > 0 ? `${target}?${query}` : target,
      body?.value ?? '',
    ).catch((error) => String(error));
  });
  return form;
}

/** A repeated example would return the first session again. */
function freshOrder(example) {
  return 'order_id' in example ? { ...example, order_id: `order-${crypto.randomUUID().slice(0, 8)}` } : example;
}

function testKeyGiven() {
  const { key, secret } = credentials();
  const isTest = key.startsWith('sk_test_');
  document.getElementById('live-warning').hidden = isTest || key === '';
  return isTest && secret !== '';
}

function showOperation(api, names, path, method, operation) {
  const heading = element(
    'summary',
    {},
    element('span', { className: 'method', textContent: method.toUpperCase() }),
    element('code', { textContent: path }),
    ` ${operation.summary}`,
  );
  const details = element('details', { id: operation.operationId }, heading);
  // Built when first opened, so that a page of closed operations stays light.
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    if (operation.description) details.append(element('p', { textContent: operation.description }));
    if (operation.parameters?.length) details.append(parameterTable(api, operation.parameters));
    const body = operation.requestBody?.content['application/json'];
    if (body) details.append(fieldTable(api, body.schema, 'Fields of the request'));
    details.append(codeTabs(operation.operationId, operation['x-codeSamples']));
    const { example, schema } = operation.responses['200'].content['application/json'];
    details.append(fieldTable(api, schema, 'Fields of the answer'));
    details.append(
      element(
        'details',
        {},
        element('summary', { textContent: 'Example answer' }),
        element('pre', { textContent: pretty(example), tabIndex: 0 }),
      ),
    );
    details.append(errorTable(operation.responses), tryForm(names, method.toUpperCase(), path, operation));
  });
  return details;
}

/** The request that the merchant's endpoint receives. */
function showEvent(api, type, { summary, description, requestBody }) {
  const { schema, example } = requestBody.content['application/json'];
  const details = element(
    'details',
    { id: `event-${type}` },
    element('summary', {}, element('code', { textContent: type }), ` ${summary}`),
  );
  details.addEventListener('toggle', () => {
    if (details.childElementCount > 1) return;
    details.append(element('p', { textContent: description }), fieldTable(api, schema, 'Fields of the event'));
    details.append(element('pre', { textContent: pretty(example), tabIndex: 0 }));
  });
  return details;
}

async function show() {
  const api = await (await window.fetch('/openapi.json')).json();
  const schemes = api.components.securitySchemes;
  const names = { timestamp: schemes.timestamp.name, nonce: schemes.nonce.name, signature: schemes.signature.name };
  document
    .getElementById('about')
    .append(
      ...api.info.description
        .split('\n')
        .map((textContent) => element('p', { textContent: textContent.replaceAll('`', '') })),
    );
  const byTag = new Map(api.tags.map(({ name }) => [name, []]));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods))
      byTag.get(operation.tags[0]).push(showOperation(api, names, path, method, operation));
  }
  document
    .getElementById('operations')
    .replaceChildren(...[...byTag].flatMap(([name, shown]) => [element('h3', { textContent: name }), ...shown]));
  document.getElementById('receiver').replaceChildren(codeTabs('receiver', api['x-webhookReceivers'], 'Receiver'));
  document
    .getElementById('events')
    .replaceChildren(...Object.entries(api.webhooks).map(([type, { post }]) => showEvent(api, type, post)));
  document.getElementById('credentials').addEventListener('input', testKeyGiven);
}

// Everything appears at once, so that nothing moves while it is read.
const whole = document.getElementById('reference');
show()
  .catch((error) =>
    document
      .getElementById('operations')
      .replaceChildren(element('p', { className: 'warning', textContent: `The document could not be read: ${error}` })),
  )
  .finally(() => {
    document.getElementById('loading').remove();
    whole.hidden = false;
  });
