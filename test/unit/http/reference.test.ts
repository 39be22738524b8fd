import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_PARTS, startTestServer, type TestServer } from '../../support/http-api.ts';

/* The OpenAPI document of a server that has every part. */

type Json = Record<string, unknown>;
interface Schema extends Json {
  readonly description?: string;
  readonly $ref?: string;
  readonly properties?: Record<string, Schema>;
  readonly enum?: readonly string[];
}
interface Document {
  readonly paths: Record<string, Record<string, Json & { readonly parameters?: readonly Schema[] }>>;
  readonly webhooks: Record<
    string,
    { readonly post: Json & { readonly parameters?: readonly (Schema & { readonly name: string })[] } }
  >;
  readonly components: { readonly schemas: Record<string, Schema> };
}

let server: TestServer;
let document: Document;
beforeAll(async () => {
  server = await startTestServer(ALL_PARTS);
  document = (await (await fetch(`${server.base}/openapi.json`)).json()) as Document;
});
afterAll(() => server.close());

/** Every object of the document with the path that leads to it, examples left out: they are data. */
function walk(value: unknown, path: string, visit: (node: Schema, path: string) => void): void {
  if (Array.isArray(value)) return value.forEach((one, index) => walk(one, `${path}/${index}`, visit));
  if (typeof value !== 'object' || value === null) return;
  visit(value as Schema, path);
  for (const [key, child] of Object.entries(value))
    if (!['example', 'examples', 'default'].includes(key)) walk(child, `${path}/${key}`, visit);
}

const isSentence = (text: unknown): boolean => typeof text === 'string' && /\S{2}.*[.!?]$/s.test(text.trim());

/** What is said of a schema: by itself, by the component that it names, by what it may be beside null. */
function saidOf(schema: Schema): string[] {
  const inner = ((schema.anyOf ?? []) as Schema[]).filter(({ type }) => type !== 'null');
  const named = schema.$ref === undefined ? [] : [document.components.schemas[schema.$ref.split('/').at(-1)!]!];
  const parts = [...named, ...(inner.length === 1 ? inner : [])];
  return [...(schema.description === undefined ? [] : [schema.description]), ...parts.flatMap(saidOf)];
}

/**
 * Everything said about the values that a property can take, and the values: behind null and in the items of an array,
 * too.
 */
function valuesOf(schema: Schema): { readonly said: string; readonly values: readonly string[] } {
  const inner = [...((schema.anyOf ?? []) as Schema[]), ...(schema.items ? [schema.items as Schema] : [])].map(
    valuesOf,
  );
  return {
    said: [schema.description ?? '', ...inner.map(({ said }) => said)].join(' '),
    values: [...(schema.enum ?? []), ...inner.flatMap(({ values }) => values)],
  };
}

describe('the reference', () => {
  it('describes every property, parameter and header', () => {
    const missing: string[] = [];
    let properties = 0;
    walk(document, '', (node, path) => {
      if (path.endsWith('/properties') || typeof node.properties !== 'object') {
        if (
          'in' in node &&
          'schema' in node &&
          !saidOf({
            ...(node.schema as Schema),
            description: node.description ?? (node.schema as Schema).description!,
          }).some(isSentence)
        )
          missing.push(`${path} ${String(node.name)}`);
        return;
      }
      for (const [name, property] of Object.entries(node.properties)) {
        properties += 1;
        if (!saidOf(property).some(isSentence)) missing.push(`${path} ${name}`);
      }
    });
    expect(properties).toBeGreaterThan(350);
    expect(missing).toEqual([]);
  });

  it('explains every value of an enumeration', () => {
    const unexplained: string[] = [];
    walk(document.components, '', (node, path) => {
      if (typeof node.properties !== 'object' || path.endsWith('/properties')) return;
      for (const [name, property] of Object.entries(node.properties)) {
        const { said, values } = valuesOf(property);
        const silent = values.filter((value) => !said.includes(`\`${value}\``));
        if (silent.length > 0) unexplained.push(`${path} ${name}: ${silent.join(', ')}`);
      }
    });
    expect(unexplained).toEqual([]);
  });
});
