// The fields of a schema and of its nested objects as a table.
import { element } from './element.js';

const nameOf = (ref) => ref.split('/').at(-1);

function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(typeOf).join(' or ');
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? 'string'].flat().join(' or ');
}

/** Resolves references into the components, each once per path, because objects can contain themselves. */
function fieldsOf(api, schema, prefix = '', seen = []) {
  if (schema.$ref)
    return seen.includes(schema.$ref)
      ? []
      : fieldsOf(api, api.components.schemas[nameOf(schema.$ref)], prefix, [...seen, schema.$ref]);
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((part) => fieldsOf(api, part, prefix, seen));
  const items = schema.items ? fieldsOf(api, schema.items, `${prefix.replace(/\.$/, '')}[].`, seen) : [];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    {
      name: prefix + name,
      type: typeOf(property),
      required: schema.required?.includes(name),
      description: describe(api, property),
    },
    ...fieldsOf(api, property, `${prefix}${name}.`, seen),
  ]);
  return [...own, ...parts, ...items];
}

export function describe(api, schema) {
  const named = schema.$ref ? [api.components.schemas[nameOf(schema.$ref)]] : (schema.anyOf ?? []);
  return schema.description ?? named.map((one) => describe(api, one)).join(' ');
}

export function fieldTable(api, schema, title) {
  const rows = fieldsOf(api, schema).map(({ name, type, required, description }) =>
    element(
      'tr',
      {},
      element('td', {}, element('code', { textContent: name })),
      element('td', { textContent: required ? `${type}, always` : type }),
      element('td', { textContent: description.replaceAll('`', '') }),
    ),
  );
  if (rows.length === 0) return '';
  const head = element(
    'tr',
    {},
    ...['Field', 'Type', 'Meaning'].map((textContent) => element('th', { textContent, scope: 'col' })),
  );
  const table = element(
    'div',
    { className: 'scroll', tabIndex: 0 },
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
  table.setAttribute('role', 'region');
  table.setAttribute('aria-label', title);
  return element('details', {}, element('summary', { textContent: title }), table);
}
