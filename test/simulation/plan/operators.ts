import { PROJECTIONS } from '../../../src/look-ups/projections.ts';
import { CommandRefused, type AdminArguments } from '../../../src/operator/server/commands.ts';
import type { ApprovalText } from '../../../src/ports/signer/approvals.ts';
import type { JsonValue } from '../../../src/ports/read-model/read-model.ts';
import { signedBy } from '../../support/approvers.ts';
import { EXPECTATIONS } from '../../../src/cli/approval-expectations.ts';
import { assertTyped, termsIn } from '../../../src/cli/approval-terms.ts';
import { addressOf, payerOn, shopOn } from '../networks.ts';
import type { Prng } from '../time/prng.ts';
import { APPROVERS, COLD_ACCOUNT, type World } from '../world.ts';
import type { ModelledNetwork, OperatorAct } from './plan.ts';

type Approved = keyof typeof EXPECTATIONS;

type Answer = Readonly<Record<string, JsonValue>>;
interface Moves {
  readonly moves: readonly {
    readonly id: string;
    readonly status: string;
    readonly coin: string;
    readonly amount: string;
    readonly to_address: string;
  }[];
}
interface Outflows {
  readonly outflows: readonly {
    readonly network: string;
    readonly outflow: string;
    readonly coin: string | null;
    readonly amount: string | null;
    readonly to_address: string | null;
  }[];
}
interface Status {
  readonly signers: readonly { readonly stopped: boolean }[];
}
interface LostPayments {
  readonly lost: readonly {
    readonly id: string;
    readonly tx: string;
    readonly coin: string;
    readonly amount: string;
    readonly to_address: string;
  }[];
}
interface Listed {
  readonly transfers: readonly { readonly id: string; readonly state: string }[];
}

const RETRY_MS = 4_000;
/** A lost payment must be final before it is taken over; what the log cannot take is not tried for longer than this. */
const TAKE_OVER_ROUNDS = 40;
const TAKE_OVER_MS = 60_000;
/** What left is found by the next comparison, an hour later at the most, if no fork took it away. */
const EXPLAIN_ROUNDS = 90;
const BY = { operator: 'olga', actor: 'olga', reason: 'as planned' };

/** People at the command line of the process that pays, and those who approve what they propose. */
export class Operators {
  readonly #world: World;
  readonly #prng: Prng;
  /** Acts that are not over. */
  #busy = 0;
  /** Until the signer has been told to stop. */
  #stopping: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
    this.#prng = world.prng.fork('operators at work');
  }

  get isIdle(): boolean {
    return this.#busy === 0;
  }

  stop(): void {
    this.#stopping = this.#during(async () => void (await this.#tell('treasury.stop', { mode: 'test', ...BY })));
  }

  /** Until the signer goes on. */
  resume(): Promise<void> {
    return this.#during(async () => {
      await this.#stopping;
      while (await this.#isStopped()) {
        await this.#agree('treasury.resume', { mode: 'test', ...BY }, { beginAnew: [] });
        await this.#pause();
      }
    });
  }

  /** What the signer paid and a restored log lacks, the oldest first. Merchants know the session of a refund. */
  takeOver(sessionOf: (refundId: string) => string | undefined): Promise<void> {
    return this.#during(async () => {
      for (let round = 0; round < TAKE_OVER_ROUNDS; round += 1) {
        await this.#pause(TAKE_OVER_MS);
        const found = (await this.#tell('treasury.lost', {})) as unknown as LostPayments | null;
        if (found?.lost.length === 0) return;
        for (const { id, tx, ...money } of found?.lost ?? []) {
          const session = sessionOf(id.replace(/-\d+$/, ''));
          const args = { tx, ...(session !== undefined && { session }), ...BY };
          await this.#agree('treasury.take-over', args, moneyOf(money));
        }
      }
    });
  }

  /** What left the treasury without an order, as soon as it is found. */
  explain(): Promise<void> {
    return this.#during(async () => {
      let isExplained = false;
      for (let round = 0; round < EXPLAIN_ROUNDS; round += 1) {
        await this.#pause(TAKE_OVER_MS);
        const found = (await this.#tell('treasury.outflows', {})) as unknown as Outflows | null;
        const open = found?.outflows ?? [];
        if (isExplained && open.length === 0) return;
        for (const { outflow, coin, amount, to_address: to } of open) {
          const left = { amount: coin === null ? 'none' : `${amount} ${coin}`, to: to ?? 'unknown' };
          isExplained = (await this.#agree('treasury.acknowledge', { outflow, ...BY }, left)) || isExplained;
        }
      }
    });
  }

  carryOut({ act, network }: OperatorAct): Promise<void> {
    return this.#during(async () => {
      switch (act) {
        case 'withdraw': {
          const money = { network, coin: 'USDT', amount: '1.00', to: addressOf(network, COLD_ACCOUNT) };
          await this.#tell('treasury.withdraw', { ...money, ...BY });
          return this.#approveAll();
        }
        case 'return': {
          const transfer = await this.#inInbox('unresolved');
          if (transfer) await this.#tell('inbox.return', { transfer, acknowledgeSender: true, ...BY });
          return this.#approveAll();
        }
        case 'undo': {
          // What is done cannot be undone, which must be refused, too.
          const transfer = (await this.#inInbox('unresolved', 'returning')) ?? (await this.#inInbox('resolved'));
          return void (transfer && (await this.#tell('inbox.undo', { transfer, ...BY })));
        }
        case 'settle':
          return this.#settle(network);
        case 'misplace':
          return;
        case 'sweep':
          return void (await this.#tell('treasury.sweep', { network, ...BY }));
        case 'reconcile':
          return void (await this.#tell('treasury.reconcile', { network, ...BY }));
        case 'rebuild': {
          const { name } = this.#prng.pick(PROJECTIONS);
          return void (await this.#world.requestOfPayer(({ foundation }) => foundation!.projections.rebuild([name])));
        }
      }
    });
  }

  /** One of those in the inbox, if there is one: in any state of its own, or in this one. */
  async #inInbox(list: 'unresolved' | 'resolved', state?: string): Promise<string | null> {
    const listed = (await this.#tell('inbox.list', { state: list })) as unknown as Listed | null;
    const found = listed?.transfers.filter((transfer) => state === undefined || transfer.state === state) ?? [];
    return found.length > 0 ? this.#prng.pick(found).id : null;
  }

  /** All that the books owe a merchant on a network, to the merchant's own address. */
  async #settle(network: ModelledNetwork): Promise<void> {
    const number = this.#prng.between(0, this.#world.merchants.length - 1);
    const { id } = this.#world.merchants[number]!.account!;
    const place = { merchant_id: id, network };
    const address = addressOf(network, shopOn(network, number));
    await this.#agree('merchant.settlement-address', { ...place, address, operator: BY.operator });
    const amount = this.#world.disk
      .rowsOf(0)
      .tables.get('ledger-balances@1')
      ?.get(`test/liabilities:merchants:${id}:payable/${network}/USDT`)?.['balance'];
    if (typeof amount !== 'string' || !amount.startsWith('-')) return;
    await this.#tell('treasury.settle', { ...place, coin: 'USDT', amount: amount.slice(1), ...BY });
    await this.#approveAll();
  }

  /** Whatever waits for them is approved, or given up where the signer will have none of it. */
  async #approveAll(): Promise<void> {
    const listed = (await this.#tell('treasury.moves', {})) as unknown as Moves | null;
    for (const { id, status, ...money } of listed?.moves ?? []) {
      if (status !== 'waiting_for_approval') continue;
      const isAgreed = await this.#agree('treasury.approve', { id, ...BY }, moneyOf(money));
      if (!isAgreed) await this.#tell('treasury.reject', { id, ...BY });
    }
  }

  /**
   * Everybody runs the command, which compares what it is asked to sign with what was typed: `compared` beside the
   * arguments. True once the last of them has been counted.
   */
  async #agree(command: Approved, args: AdminArguments, compared: AdminArguments = {}): Promise<boolean> {
    let isCounted = false;
    for (const approver of APPROVERS) {
      // Whoever answers in the service's place asks for the signatures of another command.
      const [name, given] = this.#world.isSocketFalse ? this.#lie() : [command, args];
      const asked = await this.#tell(name, given);
      const terms = asked && termsIn(asked);
      if (!asked || !terms) return asked !== null;
      if (!this.#isTyped(terms, EXPECTATIONS[command]({ ...args, ...compared }))) return false;
      const texts = (asked as unknown as { readonly to_sign: readonly (ApprovalText | null)[] }).to_sign;
      const approvals = texts.map((text) => text && signedBy(approver, text));
      isCounted = (await this.#tell(name, { ...given, approvals: approvals as unknown as JsonValue })) !== null;
    }
    return isCounted;
  }

  #isTyped(...compared: Parameters<typeof assertTyped>): boolean {
    try {
      assertTyped(...compared);
      return true;
    } catch (error) {
      if (!(error instanceof CommandRefused)) throw error;
      this.#world.timeline.count('approver signs nothing that was not typed');
      this.#world.timeline.add('refused', error.message);
      return false;
    }
  }

  #lie(): [Approved, AdminArguments] {
    const [network] = this.#world.plan.networks as readonly [ModelledNetwork];
    const address = addressOf(network, payerOn(network, 'mallory'));
    const merchant = this.#world.merchants[0]!.account!.id;
    return ['merchant.settlement-address', { merchant_id: merchant, network, address, operator: BY.operator }];
  }

  /** Asks until somebody answers; null for a refusal. */
  async #tell(command: string, args: AdminArguments): Promise<Answer | null> {
    const { timeline } = this.#world;
    for (;;) {
      const answer = await this.#world.requestOfPayer(async ({ commands }) => {
        try {
          return ((await commands[command]!(args)) as Answer | undefined) ?? {};
        } catch (error) {
          if (!(error instanceof CommandRefused)) throw error;
          return error;
        }
      });
      if (answer instanceof CommandRefused) {
        timeline.add('refused', `${command}: ${answer.message}`);
        timeline.count(`refusal ${command}`);
        return null;
      }
      if (answer !== null) {
        timeline.count(`answer ${command}`);
        return answer;
      }
      await this.#pause();
    }
  }

  async #isStopped(): Promise<boolean> {
    const status = (await this.#tell('treasury.status', {})) as unknown as Status | null;
    return status?.signers.some(({ stopped }) => stopped) ?? true;
  }

  #pause(forMs = RETRY_MS): Promise<void> {
    return new Promise((resolve) => void this.#world.scheduler.after(forMs, null, resolve));
  }

  async #during(work: () => Promise<void>): Promise<void> {
    this.#busy += 1;
    try {
      await work();
    } finally {
      this.#busy -= 1;
    }
  }
}

/** As people type it. */
const moneyOf = (money: { readonly amount: string; readonly coin: string; readonly to_address: string }) => ({
  amount: `${money.amount} ${money.coin}`,
  to: money.to_address,
});
