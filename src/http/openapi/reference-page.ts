import { ERRORS } from '../../domain/errors.ts';
import type { CodeSample } from './code-samples.ts';
import { must } from '../../domain/values/must.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

/* The OpenAPI document as Markdown, for people and for programs that read text. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}
interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
}
type Content = { readonly 'application/json': Media };
interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly content?: Content & { 'application/json': { examples?: Record<string, unknown> } } }>
  >;
  readonly 'x-codeSamples'?: readonly CodeSample[];
}
export interface ReferenceDocument {
  readonly info: { readonly title: string; readonly description: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: OperationObject }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly 'x-webhookReceivers': readonly CodeSample[];
}

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
const json = (value: unknown): string => fenced('json', JSON.stringify(value, null, 2));
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return must(schema.$ref.split('/').at(-1));
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(typeOf).join(' or ');
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? (schema.enum || schema.const !== undefined ? 'string' : 'any')].flat().join(' or ');
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

/** The properties of a schema and of its nested objects; named components have their own section. */
function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => fieldsOf(one, prefix));
  const items = schema.items ? fieldsOf(schema.items, `${prefix.replace(/\.$/, '')}[].`) : [];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]): Field[] => [
    {
      name: prefix + name,
      type: typeOf(property),
      required: schema.required?.includes(name) === true,
      description: saidOf(property),
    },
    ...fieldsOf(property, `${prefix}${name}.`),
  ]);
  return [...own, ...inner, ...items];
}

const saidOf = (schema: Schema): string =>
  schema.description ??
  (schema.anyOf ?? [])
    .map(({ description = '' }) => description)
    .join(' ')
    .trim();

function fieldTable(schema: Schema): string {
  const rows = fieldsOf(schema).map(
    ({ name, type, required, description }) =>
      `| \`${name}\` | ${cell(type)} | ${required ? 'yes' : 'no'} | ${cell(description)} |`,
  );
  return rows.length === 0
    ? ''
    : ['| Field | Type | Always there | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}

const schemaText = (schema: Schema): string =>
  schema.$ref === undefined ? fieldTable(schema) : `A [${typeOf(schema)}](#${typeOf(schema).toLowerCase()}).`;

function operationText(method: string, path: string, operation: OperationObject): string {
  const parameters = (operation.parameters ?? []).map(
    (one) =>
      `| \`${one.name}\` | ${one.in}${one.required ? ', required' : ''} | ${cell(one.description ?? saidOf(one.schema))} |`,
  );
  const body = operation.requestBody?.content['application/json'];
  const answer = operation.responses['200']?.content?.['application/json'];
  const codes = Object.entries(operation.responses).flatMap(([status, { content }]) =>
    status === '200'
      ? []
      : Object.keys(content?.['application/json'].examples ?? {}).map((code) => `[\`${code}\`](/docs/errors#${code})`),
  );
  const [sample] = operation['x-codeSamples'] ?? [];
  return [
    `### ${operation.summary}\n\n\`${method.toUpperCase()} ${path}\``,
    operation.description,
    parameters.length > 0 ? ['| Parameter | In | Meaning |', '|---|---|---|', ...parameters].join('\n') : '',
    body ? `Request body: ${schemaText(body.schema)}` : '',
    sample ? fenced('sh', sample.source) : '',
    answer ? `Answer: ${schemaText(answer.schema)}\n\n${json(answer.example)}` : '',
    codes.length > 0 ? `Errors: ${codes.join(', ')}.` : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function webhookText(type: string, operation: OperationObject): string {
  const { schema, example } = must(operation.requestBody).content['application/json'];
  return `### \`${type}\`\n\n${operation.summary}. ${schemaText(schema)}\n\n${json(example)}`;
}

function errorsText(): string {
  const rows = keysOf(ERRORS).map(
    (code) =>
      `| [\`${code}\`](/docs/errors#${code}) | ${ERRORS[code].status} | ${ERRORS[code].meaning} | ${ERRORS[code].action} |`,
  );
  return ['| Code | Status | Meaning | What to do |', '|---|---|---|---|', ...rows].join('\n');
}

/** The whole reference as one Markdown page. */
export function referencePage(document: ReferenceDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0],
      text: operationText(method, path, operation),
    })),
  );
  const groups = document.tags.map(({ name, description }) =>
    [`## ${name}`, description, ...operations.filter(({ tag }) => tag === name).map(({ text }) => text)].join('\n\n'),
  );
  const webhooks = Object.entries(document.webhooks).map(([type, { post }]) => webhookText(type, post));
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    [`### ${name}`, schema.description ?? '', fieldTable(schema) || typeOf(schema)]
      .filter((part) => part !== '')
      .join('\n\n'),
  );
  return `${[
    `# ${document.info.title} ${document.info.version}`,
    `Base address: ${must(document.servers[0]).url}`,
    document.info.description,
    ...groups,
    '## Events',
    'What your webhook endpoint receives, and what `GET /v1/events` lists.',
    ...webhooks,
    '### A receiver',
    'Complete programs using only the standard library: they verify the raw body, handle each event once and answer as the service expects.',
    ...document['x-webhookReceivers'].map(({ lang, source }) => fenced(lang.toLowerCase(), source)),
    '## Errors',
    errorsText(),
    '## Objects',
    ...schemas,
  ].join('\n\n')}\n`;
}

/** A map of the documentation for programs that read text (llmstxt.org). */
export function llmsText(document: ReferenceDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => `- \`${method.toUpperCase()} ${path}\`: ${summary}`),
  );
  const { url } = must(document.servers[0]);
  return `# ${document.info.title}

> Payment sessions, refunds and webhooks in USDT and USDC on Ethereum, BNB Smart Chain, TRON and Solana.

${document.info.description}

## Documentation

- [Reference](${url}/docs/reference.md): every operation, event, error and field
- [OpenAPI 3.1 document](${url}/openapi.json): the same for programs, with code samples in five languages
- [Errors](${url}/docs/errors): every error code and what to do about it
- [Documentation page](${url}/docs): the reference with signed test requests

## Operations

${operations.join('\n')}

## Events

${Object.entries(document.webhooks)
  .map(([type, { post }]) => `- \`${type}\`: ${post.summary}`)
  .join('\n')}
`;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const marked = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** Every error code under its own anchor: `/docs/errors#code`. */
export function errorsHtml(): string {
  const entries = keysOf(ERRORS).map((code) => {
    const { status, meaning, action } = ERRORS[code];
    return `<section id="${code}" aria-labelledby="${code}-heading"><h2 id="${code}-heading"><a href="#${code}"><code>${code}</code></a></h2><p class="quiet">HTTP status ${status}</p><p>${marked(meaning)}</p><p>What to do: ${marked(action)}</p></section>`;
  });
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="description" content="Every error code of the Quittance API: what it means and what to do." />
    <title>Errors of the Quittance API</title>
    <link rel="stylesheet" href="/docs/docs.css" />
  </head>
  <body>
    <header><h1>Errors</h1><p><a href="/docs">Reference</a></p></header>
    <main>
${entries.join('\n')}
    </main>
  </body>
</html>
`;
}
