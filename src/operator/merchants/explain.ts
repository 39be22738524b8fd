import type { WaitingRefund } from '../../features/payouts/refunds/records.ts';
import { sessionTimeline } from '../../features/sessions/timeline/timeline.ts';
import type { HeldNativeCoin } from '../../features/treasury/native-held.ts';
import { presentTimeline } from '../../http/presenters/timeline.presenter.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { toSec } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { json, refused, type AdminArguments } from '../server/commands.ts';
import { sessionIdOf } from './forget.ts';

export interface ExplainParts {
  readonly store: EventStore;
  /** Why a refund is not paid yet, in words for operators; absent where this process pays nothing. */
  readonly waitingFor?: (refundId: string) => WaitingRefund | null;
  readonly nativeHeld?: (id: SessionId) => Promise<readonly HeldNativeCoin[]>;
}

/** The timeline of a session, with what is in no event of it. */
export async function explainSession(
  { store, waitingFor, nativeHeld }: ExplainParts,
  args: AdminArguments,
): Promise<JsonValue> {
  const id = sessionIdOf(args);
  const timeline = await sessionTimeline(store, id, toSec(Date.now()));
  if (timeline === null) return refused('no such session');
  const refunds = timeline.entries.flatMap(({ type, facts }) =>
    type === 'RefundRequested' ? String(facts['refund']) : [],
  );
  // What providers say to a payout at the moment.
  const waiting = refunds.flatMap((refund) => {
    const { reason, detail, sinceMs } = waitingFor?.(refund) ?? {};
    return reason === undefined ? [] : [{ refund, reason, detail, since: toSec(sinceMs ?? 0) }];
  });
  // Native coin is found by balance, and pays nothing.
  const native = (await nativeHeld?.(id)) ?? [];
  return json({
    ...presentTimeline(timeline),
    ...(waiting.length > 0 && { waiting }),
    ...(native.length > 0 && { native_coin: native }),
  });
}
