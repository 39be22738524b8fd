import { EvmMoves } from '../adapters/evm/evm-moves.ts';
import { EvmPayouts } from '../adapters/evm/evm-payouts.ts';
import { SolanaMoves } from '../adapters/solana/solana-moves.ts';
import { SolanaPayouts } from '../adapters/solana/solana-payouts.ts';
import { TronMoves } from '../adapters/tron/tron-moves.ts';
import { TronPayouts } from '../adapters/tron/tron-payouts.ts';
import { amountOf } from '../domain/money.ts';
import type { MoveChain } from '../ports/moves.ts';
import type { PayoutChain } from '../ports/payouts.ts';
import { MoveMoney } from '../processes/move-money.process.ts';
import type { PayRefunds } from '../processes/pay-refunds.process.ts';
import { SweepCollected } from '../processes/sweep-collected.process.ts';
import type { TreasuryHandler } from '../use-cases/payouts-handler.ts';
import { pollMsOf, type PayoutDeps, type PayoutParts } from './payouts.ts';

/** Everything that moves the operator's own money. */
export interface Treasury {
  readonly moves: MoveMoney;
  readonly sweeper: SweepCollected;
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = { sandbox: 3_000, production: 60_000 } as const;

/** Starts sweeps, withdrawals and settlements; `treasuries` is the handler that refunds use, too. */
export function startTreasury(
  parts: PayoutParts,
  chains: readonly PayoutChain[],
  payouts: PayRefunds,
  { config, core, readModel, clock, random, log, treasuries, mayPay }: PayoutDeps & { readonly treasuries: TreasuryHandler },
): Treasury {
  const moves = new MoveMoney({
    chains: chains.flatMap((chain) => moveChain(chain) ?? []),
    addresses: parts.addresses,
    signer: parts.signer,
    treasuries,
    owed: (mode, network) => payouts.owed(mode, network),
    clock,
    random,
    log,
    pollMs: pollMsOf(parts.sandbox),
    mayPay,
  });
  const sweeper = new SweepCollected({
    moves,
    readModel,
    sessions: core.sessionHandler,
    clock,
    random,
    log,
    fromUnits: config.SWEEP_FROM === undefined ? null : amountOf(config.SWEEP_FROM),
    everyMs: parts.sandbox ? SWEEP_EVERY_MS.sandbox : SWEEP_EVERY_MS.production,
  });
  moves.start();
  sweeper.start();
  return {
    moves,
    sweeper,
    stop: async () => {
      await sweeper.stop();
      await moves.stop();
    },
  };
}

/** Moves go the way that payouts of the network go. */
function moveChain(chain: PayoutChain): MoveChain | null {
  if (chain instanceof EvmPayouts) return new EvmMoves(chain);
  if (chain instanceof TronPayouts) return new TronMoves(chain);
  if (chain instanceof SolanaPayouts) return new SolanaMoves(chain);
  return null;
}
