import { WAIT_MS, type CrashWorld } from './crash-world.ts';
import { until } from './running-service.ts';

/** A transfer as the inbox shows it. */
export interface StrayItem {
  readonly id: string;
  readonly state: string;
  readonly kind: string;
  readonly amount: string;
  readonly from_address: string;
  readonly session_id: string;
  readonly decision: {
    readonly target: string | null;
    readonly because: string | null;
    readonly tx_hash: string | null;
  } | null;
}

const DUE = '900.00';
let unmatched = 0;

export const waitingStrays = async (world: CrashWorld): Promise<readonly StrayItem[]> =>
  (await world.admin<{ transfers: StrayItem[] }>('inbox.list')).transfers;

/** Money of a session that was cancelled with part of it paid, once the inbox has it. */
export async function strayTransfer(world: CrashWorld, amount: string): Promise<StrayItem> {
  const { client } = await world.service();
  unmatched += 1;
  const session = await client.sessions.create({ amount: DUE, currency: 'USDT', order_id: `unmatched-${unmatched}` });
  const { address } = (session as unknown as { payment_options: { address: string }[] }).payment_options[0]!;
  await world.chain.pay({ coin: 'USDT', to: address, amount });
  await until('the money is final', WAIT_MS, async () => (await client.sessions.get(session.id)).received === amount);
  await client.sessions.cancel(session.id);
  return until('the inbox has it', WAIT_MS, async () =>
    (await waitingStrays(world)).find(({ session_id: id }) => id === session.id),
  );
}
