import { COIN_MAX_DECIMALS } from '../../domain/money/currencies.ts';
import { parseSessionId, type SessionId } from '../../domain/values/ids.ts';
import { decimalsOf, isCoin, type Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Caller, Outcome } from '../../features/shared/merchant-api.ts';
import { NOT_FOUND } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import {
  sandboxAdvanceBody,
  sandboxDeadline,
  sandboxPayBody,
  sandboxPayment,
  type SandboxCase,
  type SandboxPayBody,
  type SandboxPaymentBody,
} from '../schemas/sandbox.schema.ts';
import { refusedField } from '../validation.ts';
import { must } from '../../domain/values/must.ts';

export interface SandboxPayRequest {
  readonly sessionId: SessionId;
  readonly network: Network;
  readonly coin?: Coin;
  /** Decimal string in units of the coin. */
  readonly amount?: string;
  readonly case: SandboxCase;
}

export interface SandboxTransfer {
  readonly network: Network;
  readonly coin: Coin;
  readonly amount: string;
  readonly fromAddress: string;
  readonly toAddress: string;
  readonly txHash: string;
}

/** The test wallet of a sandbox installation. Refuses with `not_found` for a session that is not the caller's. */
export interface SandboxApi {
  pay(caller: Caller, request: SandboxPayRequest): Promise<Outcome<readonly SandboxTransfer[]>>;
  /** Moves the deadline earlier by `seconds`, or to now for null; returns the new deadline. */
  advance(caller: Caller, id: SessionId, seconds: number | null): Promise<Outcome<number>>;
}

const EXAMPLE_BODY = { network: 'ethereum', case: 'exact' } satisfies SandboxPayBody;
const EXAMPLE_RESPONSE = {
  session_id: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4',
  case: 'exact',
  transfers: [
    {
      network: 'ethereum',
      coin: 'USDT',
      amount: '10.01',
      from_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      to_address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      tx_hash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
    },
  ],
} satisfies SandboxPaymentBody;

const sandboxPayOperation = {
  id: 'paySandboxSession',
  method: 'post',
  path: '/v1/sandbox/sessions/{id}/pay',
  tag: 'Sandbox',
  scope: 'payments:create',
  summary: 'Pay a session with the test wallet',
  description:
    'Only in a sandbox, with `sk_test_` keys. Each case sends real transactions on the local chain, so that you can test every outcome.',
  body: sandboxPayBody,
  bodyRequired: true,
  response: sandboxPayment,
  errors: ['invalid_request', 'unknown_field', 'not_found', 'idempotency_conflict', 'service_unavailable'],
  example: { body: EXAMPLE_BODY, response: EXAMPLE_RESPONSE },
} as const satisfies Operation;

const advanceOperation = {
  id: 'advanceSandboxSession',
  method: 'post',
  path: '/v1/sandbox/sessions/{id}/advance',
  tag: 'Sandbox',
  scope: 'payments:create',
  summary: 'Move the deadline of a session',
  description:
    'Brings `expires_at` nearer by `seconds`, at most to now; without a body the session expires now. Chains keep their own time, which decides about transfers sent afterwards.',
  body: sandboxAdvanceBody,
  response: sandboxDeadline,
  errors: [
    'invalid_request',
    'unknown_field',
    'session_expired',
    'session_already_paid',
    'not_found',
    'idempotency_conflict',
  ],
  example: { body: { seconds: 600 }, response: { session_id: EXAMPLE_RESPONSE.session_id, expires_at: 1767226800 } },
} as const satisfies Operation;

export function sandboxRoutes(api: SandboxApi): Route[] {
  return [
    route(sandboxPayOperation, async ({ caller, params, body }) => {
      const sessionId = parseSessionId(must(params.id));
      if (sessionId === null || caller.mode !== 'test') return NOT_FOUND;
      if (body.amount !== undefined && decimalsOf(body.amount) > COIN_MAX_DECIMALS)
        return refusedField('amount', `must have at most ${COIN_MAX_DECIMALS} decimals`);
      const coin = body.coin?.toUpperCase();
      const kind = body.case ?? 'exact';
      const outcome = await api.pay(caller, {
        sessionId,
        network: body.network,
        case: kind,
        ...(coin !== undefined && isCoin(coin) && { coin }),
        ...(body.amount !== undefined && { amount: body.amount }),
      });
      return answerOf(outcome, (transfers) => ({
        session_id: sessionId,
        case: kind,
        transfers: transfers.map(presentTransfer),
      }));
    }),
    route(advanceOperation, async ({ caller, params, body }) => {
      const sessionId = parseSessionId(must(params.id));
      if (sessionId === null || caller.mode !== 'test') return NOT_FOUND;
      const outcome = await api.advance(caller, sessionId, body.seconds ?? null);
      return answerOf(outcome, (expiresAtSec) => ({ session_id: sessionId, expires_at: expiresAtSec }));
    }),
  ];
}

const presentTransfer = (transfer: SandboxTransfer): SandboxPaymentBody['transfers'][number] => ({
  network: transfer.network,
  coin: transfer.coin,
  amount: transfer.amount,
  from_address: transfer.fromAddress,
  to_address: transfer.toAddress,
  tx_hash: transfer.txHash,
});
