import type { Valuation } from '../../../domain/events/session-events.ts';
import type { Coin } from '../../../domain/money.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { OutgoingChain } from '../../../ports/outgoing-chain.ts';
import type { OutgoingSigner } from '../../../ports/outgoing-signer.ts';
import type { Random } from '../../../ports/random.ts';
import type { TreasuryHandler } from '../../shared/handlers/treasury-handler.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import type { PayoutWork } from './work.ts';

/** What one treasury's executor pays with. */
export interface RefundExecutorDeps {
  readonly chain: OutgoingChain;
  /** The signer's account on this network. */
  readonly treasury: string;
  readonly signer: Pick<OutgoingSigner, 'check' | 'sign' | 'release'>;
  readonly sessions: SessionHandler;
  readonly treasuries: TreasuryHandler;
  readonly work: PayoutWork;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** True for every address that was ever given out to receive. */
  readonly isOurs: (address: string) => boolean;
  readonly valuation: (currency: string, coin: Coin) => Valuation | null;
  /** Between two looks at the same payout. */
  readonly pollMs: number;
  /** How long a deposit that left the chain may take to come back before its refund is given up. */
  readonly depositGraceMs: number;
}
