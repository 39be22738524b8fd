import { z } from 'zod';
import {
  createDocument,
  type CreateDocumentOptions,
  type ZodOpenApiOperationObject,
  type ZodOpenApiParameters,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { SCOPE_MEANINGS, SCOPES } from '../../domain/api-keys.ts';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import { POSITION_HEADER } from '../answer.ts';
import { MAX_BODY_BYTES } from '../fixed-answers.ts';
import type { Operation } from '../operation.ts';
import { errorBody } from '../schemas/error.schema.ts';
import type { MerchantId, NotificationId } from '../../domain/values/ids.ts';
import { sampleNotification } from '../../domain/notifications/samples.ts';
import { isOptionalType, isSettingsType, WEBHOOK_TYPES, type WebhookType } from '../../domain/notifications/types.ts';
import { EVENT_MEANINGS } from '../schemas/event-types.schema.ts';
import { settingsEvent } from '../schemas/settings.schema.ts';
import { paymentEvent, paymentNoticeEvent, refundEvent } from '../schemas/event-bodies.schema.ts';
import { codeSamples } from './code-samples.ts';
import { errorUrl } from '../error-url.ts';
import { receiverSamples } from './receiver-samples.ts';
import { TAGS } from './tags.ts';
import { must } from '../../domain/values/must.ts';

export interface DocumentOptions {
  readonly operations: readonly Operation[];
  readonly serverUrl: string;
  /** Prefix of the signature headers. */
  readonly headerPrefix: string;
  readonly version: string;
}

/** Errors of every signed request. */
const ALWAYS: readonly ErrorCode[] = [
  'authentication_failed',
  'signature_version_required',
  'insufficient_scope',
  'address_not_allowed',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];
/** Errors of every request with a body. */
const WITH_BODY: readonly ErrorCode[] = [
  'invalid_request',
  'body_too_large',
  'unsupported_media_type',
  'request_timeout',
  'read_only',
];
const REQUEST_ID = 'req_k7w2q5m4n6p3r000001';

const DESCRIPTION = `Payment sessions, refunds and webhooks in USDT and USDC.

Every request is signed: HMAC-SHA256, keyed with the API secret, over \`timestamp + "." + nonce + "." + body\`, in hex; the body of a GET is the empty string.
With the header \`Signature-Version: 2\` (with the same prefix as the others) it covers \`"v2"\`, timestamp, nonce, method in capitals, path with query, and body, with a line feed between them; a key can be set to accept nothing else.
A key can be restricted to scopes, named in each operation as \`x-scope\`: ${SCOPES.map((scope) => `\`${scope}\` (${SCOPE_MEANINGS[scope]})`).join(', ')}. A key without a list may do everything.
Amounts are decimal strings, times are Unix seconds, and every error has the same form. Request bodies are JSON of at most ${MAX_BODY_BYTES / 1024} KiB.
Responses may gain fields; a field named here never changes its meaning.`;

/** The OpenAPI 3.1 document of the operations that this server has. */
export function openApiDocument(options: DocumentOptions): object {
  const { headerPrefix, operations } = options;
  const header = (name: string, description: string) =>
    ({ type: 'apiKey', in: 'header', name: headerPrefix + name, description }) as const;
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method] = operationObject(operation, options);
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Quittance API',
        version: options.version,
        description: DESCRIPTION,
        contact: { name: 'The operator of this installation', url: options.serverUrl },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: options.serverUrl }],
      tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] })),
      security: [{ apiKey: [], timestamp: [], nonce: [], signature: [] }],
      paths,
      webhooks: webhookObjects(headerPrefix),
      'x-webhookReceivers': receiverSamples(headerPrefix),
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: '`Bearer sk_live_...` or `Bearer sk_test_...`.' },
          timestamp: header('Timestamp', 'Unix seconds, at most 300 s off.'),
          nonce: header(
            'Nonce',
            'Random, 1 to 128 printable ASCII characters without a dot, never used before with this key; a UUID is recommended.',
          ),
          signature: header(
            'Signature',
            'HMAC-SHA256 of `timestamp.nonce.body`, or of the version 2 text, keyed with the API secret, 64 hex characters.',
          ),
        },
      },
    },
    { override: plainer },
  );
}

/**
 * Responses may gain fields, so only strict zod objects stay closed. Bounds that come from the number type itself are
 * left out.
 */
function plainer({ zodSchema, jsonSchema, io }: Parameters<NonNullable<CreateDocumentOptions['override']>>[0]): void {
  const { def } = zodSchema._zod;
  if (io === 'output' && def.type === 'object' && !('catchall' in def && def.catchall))
    delete jsonSchema.additionalProperties;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

function operationObject(operation: Operation, options: DocumentOptions): ZodOpenApiOperationObject {
  const { id, tag, summary, description, body, query, example } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: `${description} Requires the scope ${scopeText(operation)}.`,
    'x-scope': operation.scope,
    ...(operation.fieldScopes && { 'x-field-scopes': operation.fieldScopes }),
    requestParams: {
      ...pathParameters(operation.path),
      ...(query === undefined ? undefined : { query: query as unknown as NonNullable<ZodOpenApiParameters['query']> }),
      ...headersOf(operation),
    },
    ...(body === undefined
      ? undefined
      : {
          requestBody: {
            required: operation.bodyRequired === true,
            content: {
              'application/json': {
                schema: body,
                ...(example.body === undefined ? undefined : { example: example.body }),
              },
            },
          },
        }),
    responses: responsesOf(operation, options.serverUrl),
    'x-codeSamples': codeSamples(operation, options),
  };
}

function headersOf({ method, readsLookUps = false }: Operation): Pick<ZodOpenApiParameters, 'header'> {
  if (method !== 'post' && !readsLookUps) return {};
  return {
    header: z.object({
      ...(method === 'post' && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
      ...(readsLookUps && { [POSITION_HEADER]: POSITION.optional().meta({ description: POSITION_SENT }) }),
    }),
  };
}

function scopeText({ scope, fieldScopes = {} }: Operation): string {
  const others = Object.entries(fieldScopes).map(([field, other]) => `, \`${other}\` for \`${field}\``);
  return `\`${scope}\`${others.join('')}`;
}

const IDEMPOTENCY_KEY = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({
    description:
      'Printable ASCII. The same request with the same key is executed once; another request with it is a 409.',
    examples: ['2f1c9c1e-6a1d-4a8e-9d5f-0f8b8f0c7b11'],
  });

function pathParameters(path: string): Pick<ZodOpenApiParameters, 'path'> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => must(match[1]));
  if (names.length === 0) return {};
  return {
    path: z.object(
      Object.fromEntries(names.map((name) => [name, z.string().meta({ description: 'Id of the resource.' })])),
    ),
  };
}

const POSITION_SENT =
  'The value from an earlier answer. This answer then includes everything that the earlier one showed; a node that has not read that far waits up to two seconds, then answers 503.';
const POSITION = z.string().meta({ examples: ['C:105224/P:105224'] });

const RESPONSE_HEADERS = z.object({
  [POSITION_HEADER]: POSITION.optional().meta({
    description:
      'Present where several nodes answer: the position in the event log that this answer reflects. Send the greatest one you received with your next list request; compare the numbers in them from the left.',
  }),
  'X-Request-Id': z.string().meta({ description: 'Quote it when you contact support.' }),
  'RateLimit-Limit': z.int().meta({ description: 'Largest burst of requests.' }),
  'RateLimit-Remaining': z.int().meta({ description: 'Requests left right now.' }),
  'RateLimit-Reset': z.int().meta({ description: 'Seconds until the full burst is available again.' }),
});
const RETRY_HEADERS = z.object({ 'Retry-After': z.int().meta({ description: 'Seconds to wait.' }) });

function responsesOf(operation: Operation, serverUrl: string): ZodOpenApiResponsesObject {
  const codes = new Set<ErrorCode>([...operation.errors, ...ALWAYS, ...(operation.method === 'get' ? [] : WITH_BODY)]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
  const responses: ZodOpenApiResponsesObject = {
    200: {
      description: 'Success.',
      headers: RESPONSE_HEADERS,
      content: {
        'application/json': { schema: operation.response, example: operation.example.response },
        ...Object.fromEntries(
          Object.values(operation.files ?? {}).map(({ contentType, description }) => [
            must(contentType.split(';')[0]),
            { schema: z.string().meta({ description }) },
          ]),
        ),
      },
    },
  };
  for (const [status, statusCodes] of [...byStatus].sort(([one], [other]) => one - other)) {
    responses[`${status}` as '400'] = {
      description: statusCodes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n'),
      ...(status === 429 || status === 503 ? { headers: RETRY_HEADERS } : undefined),
      content: {
        'application/json': {
          schema: errorBody,
          examples: Object.fromEntries(statusCodes.map((code) => [code, { value: errorExample(code, serverUrl) }])),
        },
      },
    };
  }
  return responses;
}

function errorExample(code: ErrorCode, serverUrl: string): z.output<typeof errorBody> {
  return { error: { code, message: ERRORS[code].meaning, request_id: REQUEST_ID, doc_url: errorUrl(serverUrl, code) } };
}

function webhookObjects(headerPrefix: string): Record<string, { post: ZodOpenApiOperationObject }> {
  const headers = z.object({
    [`${headerPrefix}Signature`]: z
      .string()
      .meta({ description: 'HMAC-SHA256 of `timestamp.nonce.body` keyed with the webhook secret, hex.' }),
    [`${headerPrefix}Timestamp`]: z
      .string()
      .meta({ description: 'Unix seconds at signing time; reject a difference of more than 300 s.' }),
    [`${headerPrefix}Nonce`]: z.string().meta({ description: 'UUID v4.' }),
    [`${headerPrefix}Event-Type`]: z.string().meta({ description: 'Type of the event, as in the body.' }),
    [`${headerPrefix}Event-ID`]: z.string().meta({ description: 'Deduplicate by it.' }),
    [`${headerPrefix}Signature-Next`]: z
      .string()
      .optional()
      .meta({ description: 'Signature with the new secret during a rotation.' }),
  });
  const hook = (type: WebhookType): { post: ZodOpenApiOperationObject } => ({
    post: {
      operationId: `on_${type.replace('.', '_')}`,
      tags: ['Webhooks'],
      summary: `${must(EVENT_MEANINGS[type][0]).toUpperCase()}${EVENT_MEANINGS[type].slice(1)}`,
      description: `Sent to ${receiversOf(type)}; verify the signature over the raw body and deduplicate by event id.`,
      security: [],
      requestParams: { header: headers },
      requestBody: {
        required: true,
        content: { 'application/json': { schema: bodyOf(type), example: sampleOf(type) } },
      },
      responses: {
        200: { description: 'Any 2xx acknowledges the event.' },
        401: { description: 'The signature is wrong.' },
        500: {
          description:
            'Sent again after 1, 2, 4, 8 and 16 s, as after 429, any other 5xx, a timeout of 30 s or a network error.',
        },
      },
    },
  });
  return Object.fromEntries(WEBHOOK_TYPES.map((type) => [type, hook(type)]));
}

function receiversOf(type: WebhookType): string {
  if (isSettingsType(type))
    return 'the default endpoint, and to the previous URL if the change removes or replaces one';
  return isOptionalType(type) ? 'endpoints that subscribe to it' : 'every endpoint';
}

function bodyOf(type: WebhookType): z.ZodType {
  if (isSettingsType(type)) return settingsEvent;
  if (type.startsWith('refund.')) return refundEvent;
  return isOptionalType(type) ? paymentNoticeEvent : paymentEvent;
}

/** The same body that a test of the endpoint sends. */
function sampleOf(type: WebhookType): unknown {
  const owner = { merchantId: 'mer_sample' as MerchantId, mode: 'test' } as const;
  return JSON.parse(
    sampleNotification(type, 'evt_1767225660123456789' as NotificationId, owner, 1_767_225_660_123).body,
  );
}
