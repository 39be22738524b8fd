import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorBody } from '../src/http/schemas/error.schema.ts';
import { ledgerBalances, ledgerEntry, settlementReport } from '../src/http/schemas/ledger.schema.ts';
import { monthStatement } from '../src/http/schemas/statement.schema.ts';
import { pagination, transaction } from '../src/http/schemas/list.schema.ts';
import {
  changeEndpointBody,
  changeMerchantBody,
  createEndpointBody,
  merchant,
  newWebhookEndpoint,
  webhookSecret,
} from '../src/http/schemas/merchant.schema.ts';
import { createRefundBody, refund } from '../src/http/schemas/refund.schema.ts';
import {
  sandboxAdvanceBody,
  sandboxDeadline,
  sandboxPayBody,
  sandboxPayment,
} from '../src/http/schemas/sandbox.schema.ts';
import { loggedRequest } from '../src/http/schemas/request.schema.ts';
import { cancelledSession, createSessionBody, paymentSession } from '../src/http/schemas/session.schema.ts';
import { timelineOf } from '../src/http/schemas/timeline.schema.ts';
import {
  delivery,
  deliveryDetail,
  eventFeed,
  replayBody,
  replayed,
  testWebhookBody,
} from '../src/http/schemas/webhook.schema.ts';
import { webhookEvent } from '../src/http/schemas/event-bodies.schema.ts';

/*
 * Writes the types of the client from the schemas of the service, so that the client needs nothing but itself:
 * `node scripts/client-wire-types.ts` renews packages/client/src/wire.ts; a test fails when it is out of date.
 */

const REQUESTS = [
  createSessionBody,
  createRefundBody,
  changeMerchantBody,
  createEndpointBody,
  changeEndpointBody,
  sandboxPayBody,
  sandboxAdvanceBody,
  replayBody,
  testWebhookBody,
];
const ANSWERS = [
  ...[
    paymentSession,
    cancelledSession,
    timelineOf,
    refund,
    transaction,
    pagination,
    merchant,
    webhookSecret,
    newWebhookEndpoint,
    loggedRequest,
  ],
  ...[webhookEvent, delivery, deliveryDetail, eventFeed, replayed],
  ...[ledgerBalances, ledgerEntry, settlementReport, monthStatement, sandboxPayment, sandboxDeadline, errorBody],
];

const TARGET = join(import.meta.dirname, '../packages/client/src/wire.ts');

/** As much of JSON Schema as the schemas of the wire use. */
interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

export function wireTypes(): string {
  const types = new Map([...definitionsOf(REQUESTS, 'input'), ...definitionsOf(ANSWERS, 'output')]);
  const texts = [...types]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => declaration(name, schema, types));
  return `/* What goes over the wire, made from the schemas of the service by scripts/client-wire-types.ts. */\n\n${texts.join('\n\n')}\n`;
}

/** The schemas and every named one that they use, by name. */
function definitionsOf(schemas: readonly z.ZodType[], io: 'input' | 'output'): [string, Schema][] {
  return schemas.flatMap((schema) => {
    const { $defs = {} } = z.toJSONSchema(schema, { io }) as Schema;
    return Object.entries($defs);
  });
}

function declaration(name: string, schema: Schema, types: ReadonlyMap<string, Schema>): string {
  const words = comment(description(schema), '');
  if (!isPlainObject(schema)) return `${words}export type ${name} = ${typeOf(schema, '')};`;
  const base = largestPartOf(schema, types);
  if (base === undefined) return `${words}export interface ${name} ${typeOf(schema, '')}`;
  const [baseName, part] = base;
  const own = Object.entries(schema.properties).filter(([property]) => !Object.hasOwn(part.properties, property));
  return `${words}export interface ${name} extends ${baseName} ${typeOf({ ...schema, properties: Object.fromEntries(own) }, '')}`;
}

type PlainObject = Schema & Required<Pick<Schema, 'properties'>>;

const isPlainObject = (schema: Schema): schema is PlainObject =>
  schema.properties !== undefined && schema.anyOf === undefined && schema.$ref === undefined;

/** The named object with the most fields of which this one has every field and more. */
function largestPartOf(schema: PlainObject, types: ReadonlyMap<string, Schema>): [string, PlainObject] | undefined {
  const has = fieldsOf(schema);
  const parts = [...types]
    .filter((entry): entry is [string, PlainObject] => isPlainObject(entry[1]))
    .filter(([, part]) => {
      const fields = fieldsOf(part);
      return fields.size >= LEAST_SHARED && fields.size < has.size && [...fields].every((field) => has.has(field));
    });
  return parts.toSorted(([, one], [, other]) => fieldsOf(other).size - fieldsOf(one).size)[0];
}

const LEAST_SHARED = 3;

const fieldsOf = ({ properties, required = [] }: PlainObject): ReadonlySet<string> =>
  new Set(Object.entries(properties).map((field) => JSON.stringify([...field, required.includes(field[0])])));

const comment = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!;
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice) => typeOf(choice, indent)).join(' | ');
  if (schema.type === 'array') return `readonly ${bracketed(typeOf(schema.items ?? {}, indent))}[]`;
  if (schema.type === 'object') return objectType(schema, indent);
  if (schema.type === 'integer') return 'number';
  if (schema.type === undefined) return 'unknown';
  return [schema.type].flat().join(' | ');
}

/** Its own words, or those of what it is when it is not null. */
function description(schema: Schema): string | undefined {
  const choices = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return schema.description ?? (choices.length === 1 ? choices[0]!.description : undefined);
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));
const bracketed = (type: string): string => (type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type);

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const further = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : null;
  if (properties === undefined) return `Readonly<Record<string, ${further ?? 'unknown'}>>`;
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(
    ([name, property]) =>
      `${comment(description(property), inner)}${inner}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(property, inner)};\n`,
  );
  if (further !== null) lines.push(`${inner}readonly [further: string]: unknown;\n`);
  return lines.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${lines.join('')}${indent}}`;
}

if (import.meta.main) writeFileSync(TARGET, wireTypes());
