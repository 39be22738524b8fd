import { DEPOSIT_WALLETS } from '../../domain/money/ledger.ts';
import { signedAmountOf } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NativeCoin, type Network } from '../../domain/networks/networks.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { addressKey, balanceKey, LEDGER_ADDRESSES_TABLE } from '../../../projections/ledger/rows.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';

/** Native coin at an address of a session, which pays nothing. */
export interface HeldNativeCoin {
  readonly network: Network;
  readonly address: string;
  readonly coin: NativeCoin;
  /** Decimal string. */
  readonly amount: string;
}

/** What the books have of native coin at the addresses of a session: what came by mistake, and gas for a sweep. */
export async function nativeHeldBy(
  {
    sessions,
    readModel,
  }: { readonly sessions: Pick<SessionHandler, 'read'>; readonly readModel: Pick<ReadModel, 'get'> },
  id: SessionId,
): Promise<HeldNativeCoin[]> {
  const created = (await sessions.read(sessionStream(id)))?.context.created;
  const held: HeldNativeCoin[] = [];
  if (!created) return held;
  const places = new Map(created.paymentOptions.map(({ network, address }) => [network, address]));
  for (const [network, address] of places) {
    const coin = NATIVE_COIN[network];
    const key = addressKey(balanceKey(created.mode, DEPOSIT_WALLETS, network, coin), address);
    const row = await readModel.get(LEDGER_ADDRESSES_TABLE, key);
    if (row !== null && signedAmountOf(row.balance) > 0n) held.push({ network, address, coin, amount: row.balance });
  }
  return held;
}
