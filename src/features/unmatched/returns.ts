import type { MoveRequested } from '../../domain/events/treasury-move-events.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import { NOTHING_RESERVED } from '../../ports/outgoing/transaction.ts';
import type { OutgoingSigner } from '../../ports/outgoing/signer.ts';
import type { ReturnRequest, Returns, ReturnStatus } from '../../ports/outgoing/returns.ts';
import { orderOf } from '../payouts/moves/order.ts';
import type { MoveExecutor } from '../payouts/moves/records.ts';
import type { MoveMoney } from '../payouts/moves/moves.process.ts';

/** Returns are executed like every other move of the treasury. */
export function returnsOf(moves: MoveMoney, signer: Pick<OutgoingSigner, 'check'>, clock: Clock): Returns {
  const executorOf = (mode: Mode, network: Network): MoveExecutor | null => moves.executor(mode, network);
  const needed = (mode: Mode, network: Network): MoveExecutor => {
    const executor = executorOf(mode, network);
    if (!executor) throw new Error(`there is no treasury on ${mode} ${network}`);
    return executor;
  };
  return {
    treasuryOf: (mode, network) => executorOf(mode, network)?.treasury ?? null,
    request: async (data) => {
      const executor = needed(data.mode, data.network);
      const refused = await executor.tell(
        { type: 'RequestMove', kind: 'return', data: data satisfies MoveRequested },
        data.requestedBy,
      );
      if (refused === null) moves.wake(executor);
      return refused;
    },
    status: async (mode, network, moveId) => statusOf(await needed(mode, network).context(), moveId),
    cancel: async (data) => {
      const executor = needed(data.mode, data.network);
      const command = {
        type: 'GiveUpReturn',
        data: data satisfies MoveRequested,
        nowSec: toSec(clock.nowMs()),
      } as const;
      return (await executor.interventions.lostSignature(data.moveId)) ?? executor.tell(command, data.requestedBy);
    },
    forecast: (request) => forecast(needed(request.mode, request.network), signer, request),
  };
}

function statusOf({ returns }: Awaited<ReturnType<MoveExecutor['context']>>, moveId: string): ReturnStatus {
  if (!Object.hasOwn(returns, moveId)) return { kind: 'unknown' };
  const outcome = returns[moveId];
  if (!outcome) return { kind: 'under_way' };
  return outcome.paid ? { kind: 'paid', txHash: outcome.txHash } : { kind: 'failed', reason: outcome.reason };
}

async function forecast(
  { chain }: MoveExecutor,
  signer: Pick<OutgoingSigner, 'check'>,
  request: ReturnRequest,
): Promise<string> {
  const order = orderOf({ kind: 'return', terms: request });
  const check = await chain.check(order, NOTHING_RESERVED);
  if (check.kind === 'fail') return `would fail: ${check.reason}`;
  if (check.kind === 'wait') return `would wait: ${check.detail}`;
  const verdict = await signer.check(order);
  // The books have it as an unmatched transfer once the decision sets it aside.
  return verdict.ok || verdict.code === 'exceeds_account'
    ? 'ready to be paid'
    : `the signer would ${verdict.kind === 'denied' ? 'refuse' : 'wait'}: ${verdict.message}`;
}
