import type { Coin } from '../domain/money.ts';
import type { NetworkSettings } from '../domain/networks.ts';

/** The test wallets with a key of their own. */
export const KEY_PAYERS = [
  'first',
  'second',
  /** Its address is listed as one of an exchange. */
  'exchange',
  /** Cannot receive the coin after it paid: the coin's issuer froze it. */
  'frozen',
] as const;
export type KeyPayer = (typeof KEY_PAYERS)[number];

/** What pays on a sandbox chain; `contract` is an address that no key signs for. */
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

/** Ways a payment can go wrong on a chain, each a real transaction on the real node. */
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
   * Names this very chain: the hash of its first block that no other chain can have. Another value than at the last
   * start means the old chain is gone ("previous chain"), never a reorganisation.
   */
  readonly genesis: string;
  /**
   * Pays from a funded test wallet and resolves once the transaction is in a block. Payments of one payer never race.
   */
  pay(payment: SandboxPayment): Promise<SandboxPaid>;
  /** Null where the chain cannot be made to fail. */
  readonly faults: SandboxFaults | null;
  /** Of the payer `exchange`; absent where somebody else pays. */
  readonly exchangeAddress?: string;
  /** Gives an account coins and gas money, as much as it lacks; absent where the chain cannot. */
  fundTreasury?(address: string): Promise<void>;
  /** Ends the node after it wrote its state. Repeated calls are harmless. */
  close(): Promise<void>;
}

/** A chain that could not be started, and why, in words for the operator. */
export interface SandboxChainUnavailable {
  readonly network: NetworkSettings['network'];
  readonly reason: string;
}

/** A payment the test wallet refuses or the chain rejected. */
export class SandboxPaymentFailed extends Error {
  override readonly name = 'SandboxPaymentFailed';
}
