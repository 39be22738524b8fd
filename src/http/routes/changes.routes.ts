import type { OwnChanges } from '../../features/merchants/own-changes.ts';
import { answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { PENDING_CHANGE_EXAMPLE } from '../schemas/merchant.example.ts';
import { pendingChanges } from '../schemas/settings.schema.ts';
import { presentChange } from './merchant.routes.ts';
import { must } from '../../domain/values/must.ts';

const listChangesOperation = {
  id: 'listPendingChanges',
  method: 'get',
  path: '/v1/merchant/changes',
  tag: 'Merchant',
  scope: 'settings:manage',
  summary: 'List pending changes',
  description: 'Requested changes of webhook URLs, policy and settlement addresses that are not in force yet.',
  response: pendingChanges,
  errors: ['invalid_request'],
  example: { response: { data: [PENDING_CHANGE_EXAMPLE] } },
} as const satisfies Operation;

const withdrawChangeOperation = {
  id: 'withdrawPendingChange',
  method: 'post',
  path: '/v1/merchant/changes/{id}/withdraw',
  tag: 'Merchant',
  scope: 'settings:manage',
  summary: 'Withdraw a pending change',
  description: 'It never takes effect. Returns the changes still pending.',
  response: pendingChanges,
  errors: ['invalid_request', 'not_found', 'conflict', 'idempotency_conflict'],
  example: { response: { data: [] } },
} as const satisfies Operation;

export type ChangesApi = Pick<OwnChanges, 'list' | 'withdraw'>;

export function changeRoutes(api: ChangesApi): Route[] {
  return [
    route(listChangesOperation, async ({ caller }) => answer({ data: api.list(caller).map(presentChange) })),
    route(withdrawChangeOperation, async ({ caller, params }) =>
      answerOf(await api.withdraw(caller, must(params.id)), (waiting) => ({ data: waiting.map(presentChange) })),
    ),
  ];
}
