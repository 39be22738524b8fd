import { z } from 'zod';
import type { OwnEndpoints } from '../../features/merchants/own-endpoints.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import {
  CREATE_ENDPOINT_EXAMPLE,
  NEW_ENDPOINT_EXAMPLE,
  WEBHOOK_ENDPOINT_EXAMPLE,
  WEBHOOK_SECRET_EXAMPLE,
} from '../schemas/merchant.example.ts';
import {
  changeEndpointBody,
  createEndpointBody,
  newWebhookEndpoint,
  webhookEndpoint,
  webhookSecret,
} from '../schemas/merchant.schema.ts';
import { choiceOf, presentEndpoint } from './merchant.routes.ts';
import { must } from '../../domain/values/must.ts';

const TAG = 'Webhooks';
const PATH = '/v1/webhooks/endpoints';

const listEndpointsOperation = {
  id: 'listWebhookEndpoints',
  method: 'get',
  path: PATH,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'List your webhook endpoints',
  description: 'The default one first: it receives every outcome. Each has its own secret, queue and health.',
  response: z.object({ data: z.array(webhookEndpoint).meta({ description: 'The endpoints.' }) }),
  errors: ['invalid_request'],
  example: { response: { data: [WEBHOOK_ENDPOINT_EXAMPLE] } },
} as const satisfies Operation;

const getEndpointOperation = {
  id: 'getWebhookEndpoint',
  method: 'get',
  path: `${PATH}/{id}`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Get a webhook endpoint',
  description: 'Its state: whether it is suspended, and whether a new secret is pending.',
  response: webhookEndpoint,
  errors: ['invalid_request', 'not_found'],
  example: { response: WEBHOOK_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

const addEndpointOperation = {
  id: 'createWebhookEndpoint',
  method: 'post',
  path: PATH,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Add a webhook endpoint',
  description:
    'From now on it receives the events it subscribes to, with the same event ids as your other endpoints, signed with its own secret.',
  body: createEndpointBody,
  bodyRequired: true,
  response: newWebhookEndpoint,
  errors: ['invalid_request', 'unknown_field', 'conflict', 'idempotency_conflict'],
  example: { body: CREATE_ENDPOINT_EXAMPLE, response: NEW_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

const changeEndpointOperation = {
  id: 'changeWebhookEndpoint',
  method: 'patch',
  path: `${PATH}/{id}`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Change a webhook endpoint',
  description: 'Changes only the given fields, for future events. A suspended endpoint is resumed.',
  body: changeEndpointBody,
  bodyRequired: true,
  response: webhookEndpoint,
  errors: ['invalid_request', 'unknown_field', 'not_found', 'conflict'],
  example: {
    body: { disabled: true },
    response: { ...WEBHOOK_ENDPOINT_EXAMPLE, id: NEW_ENDPOINT_EXAMPLE.id, disabled: true },
  },
} as const satisfies Operation;

const issueSecretOperation = {
  id: 'issueWebhookSecret',
  method: 'post',
  path: `${PATH}/{id}/secret`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Issue a new webhook secret',
  description:
    'From now on each request carries a second signature, made with the new secret. The new secret takes over after 24 hours, or when you activate it. Issuing again replaces a new secret that has not taken over yet.',
  response: webhookSecret,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: WEBHOOK_SECRET_EXAMPLE },
} as const satisfies Operation;

const activateSecretOperation = {
  id: 'activateWebhookSecret',
  method: 'post',
  path: `${PATH}/{id}/secret/activate`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Activate the issued webhook secret now',
  description: 'The old secret is no longer used.',
  response: webhookEndpoint,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: WEBHOOK_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

const resumeOperation = {
  id: 'resumeWebhookEndpoint',
  method: 'post',
  path: `${PATH}/{id}/resume`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Resume a suspended endpoint',
  description:
    'Queued events are sent in order, at most ten a second. Has no effect on an endpoint that is not suspended.',
  response: webhookEndpoint,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: WEBHOOK_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

export type EndpointApi = Pick<
  OwnEndpoints,
  'list' | 'get' | 'add' | 'change' | 'issueSecret' | 'activateSecret' | 'resume'
>;

export function endpointRoutes(api: EndpointApi): Route[] {
  return [
    route(listEndpointsOperation, async ({ caller }) => answer({ data: api.list(caller).map(presentEndpoint) })),
    route(addEndpointOperation, async ({ caller, body }) => {
      const { url, events } = body;
      return answerOf(
        await api.add(caller, { url, events, ...choiceOf(body) }),
        ({ endpoint, webhook_secret: secret }) => ({
          ...presentEndpoint(endpoint),
          ...secretBody(secret),
        }),
      );
    }),
    route(getEndpointOperation, async ({ caller, params }) => {
      const endpoint = api.get(caller, must(params.id));
      return endpoint ? answer(presentEndpoint(endpoint)) : NOT_FOUND;
    }),
    route(changeEndpointOperation, async ({ caller, params, body }) => {
      const { url, disabled } = body;
      const change = {
        ...choiceOf(body),
        ...(url !== undefined && { url }),
        ...(disabled !== undefined && { disabled }),
      };
      return answerOf(await api.change(caller, must(params.id), change), presentEndpoint);
    }),
    route(issueSecretOperation, async ({ caller, params }) =>
      answerOf(
        await api.issueSecret(caller, must(params.id)),
        ({ webhook_secret: secret, activates_at: activatesAt }) => ({
          endpoint_id: must(params.id),
          ...secretBody(secret),
          activates_at: activatesAt,
        }),
      ),
    ),
    route(activateSecretOperation, async ({ caller, params }) =>
      answerOf(await api.activateSecret(caller, must(params.id)), presentEndpoint),
    ),
    route(resumeOperation, async ({ caller, params }) =>
      answerOf(await api.resume(caller, must(params.id)), presentEndpoint),
    ),
  ];
}

const secretBody = (secret: string) => ({
  webhook_secret: secret,
  standard_webhooks_secret: `whsec_${Buffer.from(secret).toString('base64')}`,
});
