import { z } from 'zod';
import type { OwnEndpoint } from '../../features/merchants/own-endpoint.ts';
import { NOT_FOUND, answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { WEBHOOK_ENDPOINT_EXAMPLE, WEBHOOK_SECRET_EXAMPLE } from '../schemas/merchant.example.ts';
import { webhookEndpoint, webhookSecret } from '../schemas/merchant.schema.ts';
import { presentEndpoint } from './merchant.routes.ts';

const TAG = 'Webhooks';
const PATH = '/v1/webhooks/endpoints';

const listEndpointsOperation = {
  id: 'listWebhookEndpoints',
  method: 'get',
  path: PATH,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'List your webhook endpoints',
  description: 'A merchant has one. Its URL and what it is told are changed with `PATCH /v1/merchant`.',
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
  description: 'How it stands: whether it is suspended, and whether a new secret waits.',
  response: webhookEndpoint,
  errors: ['invalid_request', 'not_found'],
  example: { response: WEBHOOK_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

const issueSecretOperation = {
  id: 'issueWebhookSecret',
  method: 'post',
  path: `${PATH}/{id}/secret`,
  tag: TAG,
  scope: 'webhooks:manage',
  summary: 'Issue a new webhook secret',
  description:
    'From now on each request carries a second signature, made with the new secret; it takes over after 24 hours, or when you activate it. Issuing again replaces a secret that does not sign alone yet.',
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
  summary: 'Let the issued webhook secret take over now',
  description: 'The old one signs nothing more.',
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
  summary: 'Send to a suspended endpoint again',
  description: 'What has queued goes out in order, at most ten a second. Of an endpoint that is not suspended nothing changes.',
  response: webhookEndpoint,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: WEBHOOK_ENDPOINT_EXAMPLE },
} as const satisfies Operation;

export type EndpointApi = Pick<OwnEndpoint, 'get' | 'issueSecret' | 'activateSecret' | 'resume'>;

export function endpointRoutes(api: EndpointApi): Route[] {
  return [
    route(listEndpointsOperation, async ({ caller }) => {
      const endpoint = api.get(caller);
      return answer({ data: endpoint ? [presentEndpoint(endpoint)] : [] });
    }),
    route(getEndpointOperation, async ({ caller, params }) => {
      const endpoint = api.get(caller);
      return endpoint?.endpoint_id === params.id ? answer(presentEndpoint(endpoint!)) : NOT_FOUND;
    }),
    route(issueSecretOperation, async ({ caller, params }) =>
      answerOf(await api.issueSecret(caller, params.id!), (issued) => ({
        endpoint_id: params.id!,
        webhook_secret: issued.webhook_secret,
        standard_webhooks_secret: `whsec_${Buffer.from(issued.webhook_secret).toString('base64')}`,
        activates_at: issued.activates_at,
      })),
    ),
    route(activateSecretOperation, async ({ caller, params }) => answerOf(await api.activateSecret(caller, params.id!), presentEndpoint)),
    route(resumeOperation, async ({ caller, params }) => answerOf(await api.resume(caller, params.id!), presentEndpoint)),
  ];
}
