import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { Sender } from '../../domain/networks/senders.ts';
import type { ContractCheck, Senders } from '../../ports/chain/senders.ts';
import { exchangeOf, type ExchangeWallets } from './exchange-wallets.ts';
import { must } from '../../domain/values/must.ts';
import { within } from '../../runtime/util/within.ts';

/** A payment must not wait for a slow provider; the sender is checked again before a refund. */
const ANSWER_MS = 3_000;
/** One provider said it, which may lag behind a contract that was just created. */
const WALLET_FOR_MS = 600_000;
/** Number of recent senders kept in memory. */
const REMEMBERED = 10_000;
const WALLET: Sender = { kind: 'wallet', name: null };
const CONTRACT: Sender = { kind: 'contract', name: null };

/** Classifies the sender, first by the list of exchanges and then by the chain. */
export function createSenders(
  checks: readonly ContractCheck[],
  exchanges: ExchangeWallets,
  answerMs = ANSWER_MS,
): Senders {
  const known = new Map<string, { readonly sender: Sender; readonly untilMs: number }>();
  const byNetwork = new Map(checks.map((check) => [`${check.mode}/${check.network}`, check]));

  async function lookUp(check: ContractCheck, key: string, address: string): Promise<Sender | null> {
    try {
      const sender = (await check.isContract(address)) ? CONTRACT : WALLET;
      if (known.size >= REMEMBERED) known.delete(must(known.keys().next().value));
      known.set(key, { sender, untilMs: sender === WALLET ? performance.now() + WALLET_FOR_MS : Infinity });
      return sender;
    } catch {
      return null;
    }
  }

  return {
    async of(mode: Mode, network: Network, address: string): Promise<Sender | null> {
      const exchange = exchangeOf(exchanges, network, address);
      if (exchange !== null) return { kind: 'exchange', name: exchange };
      const check = byNetwork.get(`${mode}/${network}`);
      if (!check) return null;
      const key = `${mode}/${network}/${address}`;
      const remembered = known.get(key);
      if (remembered && performance.now() < remembered.untilMs) return remembered.sender;
      return within(answerMs, lookUp(check, key, address), () => null);
    },
  };
}
