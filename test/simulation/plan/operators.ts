import { PROJECTIONS } from '../../../src/look-ups/projections.ts';
import { CommandRefused, type AdminArguments } from '../../../src/operator/server/commands.ts';
import type { ApprovalText } from '../../../src/ports/signer/approvals.ts';
import type { JsonValue } from '../../../src/ports/read-model/read-model.ts';
import { signedBy } from '../../support/approvers.ts';
import { addressOf } from '../networks.ts';
import type { Prng } from '../time/prng.ts';
import { APPROVERS, COLD_ACCOUNT, type World } from '../world.ts';
import type { OperatorAct } from './plan.ts';

type Answer = Readonly<Record<string, JsonValue>>;
interface Moves {
  readonly moves: readonly { readonly id: string; readonly status: string }[];
}
interface Status {
  readonly signers: readonly { readonly stopped: boolean }[];
}
interface LostPayments {
  readonly lost: readonly { readonly id: string; readonly tx: string }[];
}
interface Listed {
  readonly transfers: readonly { readonly id: string; readonly state: string }[];
}

const RETRY_MS = 4_000;
/** A lost payment must be final before it is taken over; what the log cannot take is not tried for longer than this. */
const TAKE_OVER_ROUNDS = 40;
const TAKE_OVER_MS = 60_000;
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
        await this.#agree('treasury.resume', { mode: 'test', ...BY });
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
        for (const { id, tx } of found?.lost ?? []) {
          const session = sessionOf(id.replace(/-\d+$/, ''));
          await this.#agree('treasury.take-over', { tx, ...(session !== undefined && { session }), ...BY });
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

  /** Whatever waits for them is approved, or given up where the signer will have none of it. */
  async #approveAll(): Promise<void> {
    const listed = (await this.#tell('treasury.moves', {})) as unknown as Moves | null;
    for (const { id, status } of listed?.moves ?? [])
      if (status === 'waiting_for_approval') await this.#agree('treasury.approve', { id, ...BY });
  }

  /** Everybody signs what the signer wants to be signed. */
  async #agree(command: string, args: AdminArguments): Promise<void> {
    for (const approver of APPROVERS) {
      const asked = (await this.#tell(command, args)) as unknown as { to_sign?: (ApprovalText | null)[] } | null;
      if (asked?.to_sign === undefined) return;
      const approvals = asked.to_sign.map((text) => text && signedBy(approver, text));
      await this.#tell(command, { ...args, approvals: approvals as unknown as JsonValue });
    }
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
