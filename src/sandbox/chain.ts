import type { Coin } from '../domain/money/money.ts';
import type { NetworkSettings } from '../domain/networks/networks.ts';

/** Test wallets with their own key. */
export const KEY_PAYERS = [
  'first',
  'second',
  /** Its address is listed as belonging to an exchange. */
  'exchange',
  /** Cannot receive the coin after paying, because the coin's issuer freezes it. */
  'frozen',
] as const;
export type KeyPayer = (typeof KEY_PAYERS)[number];

/** The payers of a sandbox chain; `contract` is an address that no key signs for. */
export type SandboxPayer = KeyPayer | 'contract';

export interface SandboxPayment {
  readonly coin: Coin;
  /** Address in the network's own form: EVM hex, TRON base58, Solana owner (not its token account). */
  readonly to: string;
  /** Decimal string in units of the coin; must be expressible in the token's decimals. */
  readonly amount: string;
  /** Default `first`. */
  readonly payer?: SandboxPayer;
}

export interface SandboxPaid {
  /** EVM: 0x hex. TRON: hex without prefix. Solana: the first signature in base58. */
  readonly txHash: string;
  readonly fromAddress: string;
}

/** Ways in which a payment can go wrong, each a real transaction on the real node. */
export interface SandboxFaults {
  /** Mined, replaced by a reorganisation, and mined again in a later block with the same hash. */
  payThenReorg(payment: SandboxPayment): Promise<SandboxPaid>;
  /** Mined, replaced by a reorganisation, and never seen again. */
  payThenLose(payment: SandboxPayment): Promise<SandboxPaid>;
  /** Mined with a failed status and without effect. */
  payAndFail(payment: SandboxPayment): Promise<SandboxPaid>;
}

/** One local chain of the sandbox, whatever node software runs it. */
export interface SandboxChain {
  readonly settings: NetworkSettings;
  readonly rpcUrl: string;
  /**
   * Identifies this chain: the hash of the first block that no other chain can share. A different value than at the
   * last start means that the old chain is gone ("previous chain"), never a reorganisation.
   */
  readonly genesis: string;
  /**
   * Pays from a funded test wallet and resolves once the transaction is in a block. Payments of one payer never race.
   */
  pay(payment: SandboxPayment): Promise<SandboxPaid>;
  /** Null where the chain cannot simulate faults. */
  readonly faults: SandboxFaults | null;
  /** Address of the payer `exchange`; absent where another account pays. */
  readonly exchangeAddress?: string;
  /** Tops up an account with coins and gas money; absent where the chain cannot. */
  fundTreasury?(address: string): Promise<void>;
  /** Stops the node after it has written its state. Repeated calls are harmless. */
  close(): Promise<void>;
}

/** A chain that could not be started, and the reason in words for the operator. */
export interface SandboxChainUnavailable {
  readonly network: NetworkSettings['network'];
  readonly reason: string;
}

/** A payment that the test wallet refused or the chain rejected. */
export class SandboxPaymentFailed extends Error {
  override readonly name = 'SandboxPaymentFailed';
}
