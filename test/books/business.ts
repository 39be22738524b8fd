import { Wallet } from 'ethers';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';
import { demoApprove } from '../support/approvers.ts';
import { evmPayer, solanaPayer, tronPayer, type RawPayer } from '../support/raw-payers.ts';
import { eventually, signedCall, type ApiAnswer, type RunningSandbox } from '../support/running-sandbox.ts';
import type { commandLine } from './check-books.ts';

/*
 * What a month of business does to the books beside payments and refunds: strangers' native coin, sweeps, settlements
 * and withdrawals.
 */

/** Base units of native coin that a stranger sends to a collection address: enough for the gas of its sweep. */
const STRAY: Readonly<Record<string, bigint>> = {
  ethereum: 10n ** 16n,
  bsc: 10n ** 16n,
  tron: 50_000_000n,
  solana: 5_000_000n,
};
const MOVES_MS = 240_000;
export const COLD = Wallet.createRandom().address;

interface Session {
  readonly id: string;
  readonly payment_options: readonly { readonly network: string; readonly address: string }[];
  readonly deposits?: readonly { readonly from_address: string; readonly network: string }[];
}

export class Business {
  readonly #sandbox: RunningSandbox;
  readonly #cli: ReturnType<typeof commandLine>;

  constructor(sandbox: RunningSandbox, cli: ReturnType<typeof commandLine>) {
    this.#sandbox = sandbox;
    this.#cli = cli;
  }

  call(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const { facts } = this.#sandbox;
    return signedCall(facts.base_url, facts.merchant, method, path, body);
  }

  /**
   * Native coin of strangers at two paid sessions of each network: one is swept before any look, the other is looked at
   * before its sweep.
   */
  async strays(sessionIds: readonly (readonly [network: string, id: string])[]): Promise<void> {
    for (const network of Object.keys(this.#sandbox.facts.networks)) {
      const ids = sessionIds.filter(([of]) => of === network).map(([, id]) => id);
      const sessions = await Promise.all(
        ids.slice(0, 2).map(async (id) => (await this.call('GET', `/api/v1/checkout/sessions/${id}`)).json),
      );
      const [stranger, close] = await this.#stranger(
        network,
        (sessions[0] as unknown as Session).deposits![0]!.from_address,
      );
      for (const session of sessions as unknown as Session[]) {
        const { address } = session.payment_options.find((option) => option.network === network)!;
        const tx = await stranger.sendNative(address, STRAY[network]);
        if (session.id === ids[0]) await this.#sweep(network);
        else await this.#giveBack({ network, tx, address });
      }
      close();
      await this.#sweep(network);
      console.log(`${network}: strangers' native coin came, one had it back, and the addresses were swept`);
    }
  }

  /** A settlement on each network where the merchant has an address, and a withdrawal. */
  async payOut(): Promise<void> {
    const { dataDir, facts } = this.#sandbox;
    const merchant = { merchant_id: facts.merchant.id };
    const place = { ...merchant, network: 'ethereum', operator: 'ada' };
    await demoApprove(dataDir, 'merchant.settlement-address', { ...place, address: Wallet.createRandom().address });
    const ordered = [
      await this.#admin<{ id: string }>('treasury.settle', { ...place, coin: 'USDT', amount: '12.34' }),
      await this.#admin<{ id: string }>('treasury.withdraw', {
        network: 'ethereum',
        coin: 'USDT',
        amount: '1.01',
        to: COLD,
        operator: 'ada',
      }),
    ];
    for (const { id } of ordered) await demoApprove(dataDir, 'treasury.approve', { id });
    const lines = { debit: 'expenses:other=1.00', credit: `liabilities:merchants:${facts.merchant.id}:payable=1.00` };
    const goodwill = { mode: 'test', network: 'ethereum', coin: 'USDT', ...lines, operator: 'ada', reason: 'goodwill' };
    const { id: adjustment } = await this.#admin<{ id: string }>('ledger.adjust', goodwill);
    await demoApprove(dataDir, 'ledger.approve-adjustment', { id: adjustment });
    await this.#idle();
    console.log('ethereum: the merchant was settled and given goodwill, and some was withdrawn');
  }

  /** Once it is final and in the books. */
  async #giveBack(transfer: {
    readonly network: string;
    readonly tx: string;
    readonly address: string;
  }): Promise<void> {
    const ordered = await eventually(
      'the native coin can go back',
      async () => {
        await this.#cli('treasury', 'reconcile', '--network', transfer.network, '--json');
        return this.#admin<{ id: string }>('treasury.return', {
          ...transfer,
          operator: 'ada',
          reason: 'sent by mistake',
        }).catch(() => null);
      },
      MOVES_MS,
    );
    await demoApprove(this.#sandbox.dataDir, 'treasury.approve', { id: ordered.id });
    await this.#idle();
  }

  async #sweep(network: string): Promise<void> {
    await this.#cli('treasury', 'sweep', '--network', network, '--json');
    await this.#idle();
  }

  #idle(): Promise<unknown> {
    return eventually(
      'all moves are done',
      async () => (await this.#admin<{ moves: unknown[] }>('treasury.moves')).moves.length === 0,
      MOVES_MS,
    );
  }

  async #admin<Answer>(command: string, args: Readonly<Record<string, JsonValue>> = {}): Promise<Answer> {
    return (await callAdmin(this.#sandbox.dataDir, command, args)) as unknown as Answer;
  }

  async #stranger(network: string, rich: string): Promise<[payer: RawPayer, close: () => void]> {
    if (network === 'tron') return [await tronPayer(this.#sandbox), () => undefined];
    if (network === 'solana') return [solanaPayer(this.#sandbox), () => undefined];
    const payer = await evmPayer(this.#sandbox, network as 'bsc' | 'ethereum', rich);
    return [payer, payer.close];
  }
}
