import { z } from 'zod';
import { pagingFields } from './list.schema.ts';
import { flag, integer, plainText, text, unixSeconds } from './words.schema.ts';

const STATUS_RULE = 'must be an HTTP status such as 400';

export const listRequestsQuery = z.strictObject({
  page_size: pagingFields.page_size,
  cursor: plainText(64)
    .optional()
    .meta({ description: 'Empty or absent for the newest, then `next_cursor` of the previous page.' }),
  status: z
    .string()
    .refine((given) => /^[1-5]\d\d$/.test(given), STATUS_RULE)
    .optional()
    .meta({
      override: { type: 'integer', minimum: 100, maximum: 599 },
      description: 'Only requests with this status.',
    }),
});

export const loggedRequest = z
  .object({
    id: z.string().meta({ description: 'The `request_id` of the answer.', examples: ['req_k7w2q5m4n6p3r000001'] }),
    at: unixSeconds.meta({ description: 'When it came, Unix seconds.' }),
    duration_ms: integer('Time to answer, in milliseconds.'),
    method: text('HTTP method.'),
    target: text('Path and query.'),
    operation: text('Name of the operation in the OpenAPI document, or `unmatched`.'),
    key_id: text('The API key that it used.'),
    status: integer('HTTP status of the answer.'),
    error_code: text('The code of the error; null when it succeeded.').nullable(),
    param: text('The field, header or query parameter at fault, or null.').nullable(),
    authentication_fault: text(
      'For a 401 with a test-mode key: the check that failed, such as `timestamp` or `signature`; otherwise null.',
    ).nullable(),
  })
  .meta({ id: 'LoggedRequest' });

export const requestList = z
  .object({
    data: z.array(loggedRequest).meta({ description: 'Requests, newest first.' }),
    pagination: z
      .object({
        page_size: integer('Requests per page, as requested.'),
        has_more: flag('Whether another page follows.'),
        next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null at the end.' }),
      })
      .meta({ description: 'Position of this page in the log.' }),
  })
  .meta({ id: 'LoggedRequestList' });

export type LoggedRequestBody = z.output<typeof loggedRequest>;

export const LOGGED_REQUEST_EXAMPLE = {
  id: 'req_k7w2q5m4n6p3r000001',
  at: 1767225660,
  duration_ms: 4,
  method: 'POST',
  target: '/api/v1/checkout/sessions/create',
  operation: 'createPaymentSession',
  key_id: 'key_k7w2q5m4n6p3r7s2t5v4',
  status: 400,
  error_code: 'invalid_request',
  param: 'amount',
  authentication_fault: null,
} satisfies LoggedRequestBody;
