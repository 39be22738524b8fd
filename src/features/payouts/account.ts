import { treasuryStream } from '../../domain/values/streams.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import type { Random } from '../../ports/random.ts';
import type { TreasuryCommand } from '../../../state-machines/treasury/treasury.decider.ts';
import { initialTreasuryContext, type TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';
import type { TreasuryHandler } from '../shared/handlers/treasury-handler.ts';

export interface AccountDeps {
  readonly chain: OutgoingChain;
  /** The signer's account on this network. */
  readonly treasury: string;
  readonly treasuries: TreasuryHandler;
  readonly random: Random;
}

/** The treasury of one mode and network: its address, its chain and its stream. */
export class TreasuryAccount {
  readonly chain: OutgoingChain;
  readonly address: string;
  readonly stream: string;
  readonly #deps: AccountDeps;

  constructor(deps: AccountDeps) {
    this.#deps = deps;
    this.chain = deps.chain;
    this.address = deps.treasury;
    this.stream = treasuryStream(deps.chain.mode, deps.chain.network);
  }

  async context(): Promise<TreasuryContext> {
    return (await this.#deps.treasuries.read(this.stream))?.context ?? initialTreasuryContext;
  }

  /** Null if the command was recorded; otherwise the treasury's refusal. */
  async tell(command: TreasuryCommand, actor: string): Promise<string | null> {
    const result = await this.#deps.treasuries.execute(this.stream, command, {
      correlationId: this.#deps.random.uuid(),
      actor,
    });
    return result.ok ? null : result.refusal.message;
  }
}
