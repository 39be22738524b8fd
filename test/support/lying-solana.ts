import { PublicKey } from '@solana/web3.js';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { ProviderFault, RpcError, type RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { associatedTokenAccount } from '../../src/chain-formats/spl-token.ts';
import {
  MAINNET_GENESIS,
  mintAccount,
  replyOf,
  solanaNodeState,
  TOKEN_PROGRAM,
  tokenAccountData,
  type SolanaNodeState,
} from './solana-node.ts';

const MINT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
export const SOLANA_OWNER = 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96';
const PAYER = new PublicKey(new Uint8Array(32).fill(7)).toBase58();
const ACCOUNT = associatedTokenAccount(SOLANA_OWNER, MINT);
const PAYERS_ACCOUNT = associatedTokenAccount(PAYER, MINT);
/** Slots; few, so that a search sees many payments become final. */
const FINALITY = 8;
const START_SLOT = 1_000;

export const SOLANA_MODEL: NetworkSettings = {
  network: 'solana',
  mode: 'test',
  chainId: MAINNET_GENESIS,
  tokens: [{ coin: 'USDT', address: MINT, decimals: 6 }],
  ...{ simulated: false, mainNetwork: false, explorerTransactionUrl: null },
};

/** A chain in memory, as one node knows it; a slot is a second. */
export class SolanaModelChain {
  readonly state: SolanaNodeState = solanaNodeState(START_SLOT, START_SLOT - FINALITY);

  constructor() {
    this.state.timeOf = (slot) => 1_800_000_000 + slot;
    this.state.accounts.set(MINT, mintAccount());
  }

  get nowSec(): number {
    return this.state.timeOf(this.state.slot);
  }

  /** What is in the chain, by its signature. */
  unitsOf(signature: string): { readonly slot: number; readonly units: bigint } | null {
    const found = this.state.transactions.get(signature);
    return found ? { slot: found.slot, units: unitsIn(found) } : null;
  }

  advance(slots: number): void {
    this.state.slot += slots;
    this.state.finalizedSlot = this.state.slot - FINALITY;
  }

  pay(signature: string, units: bigint): void {
    const balance = (accountIndex: number, owner: string, amount: bigint) => ({
      ...{ accountIndex, mint: MINT, owner, programId: TOKEN_PROGRAM, uiTokenAmount: { amount: amount.toString() } },
    });
    const meta = {
      ...{ err: null, preBalances: [1, 0, 0], postBalances: [1, 0, 0] },
      preTokenBalances: [balance(2, PAYER, units)],
      postTokenBalances: [balance(1, SOLANA_OWNER, units), balance(2, PAYER, 0n)],
    };
    const transaction = { message: { accountKeys: [PAYER, ACCOUNT, PAYERS_ACCOUNT] } };
    this.state.transactions.set(signature, { slot: this.state.slot, meta, transaction } as never);
    this.#settle();
  }

  /** What is not final yet leaves the chain. */
  fork(): void {
    for (const [signature, { slot }] of this.state.transactions)
      if (slot > this.state.finalizedSlot) this.state.transactions.delete(signature);
    this.#settle();
  }

  #settle(): void {
    const { transactions, histories, accounts } = this.state;
    histories.set(ACCOUNT, [...transactions.keys()].toReversed());
    const units = [...transactions.values()].reduce((sum, transaction) => sum + unitsIn(transaction), 0n);
    accounts.set(
      ACCOUNT,
      tokenAccountData(new PublicKey(MINT).toBytes(), new PublicKey(SOLANA_OWNER).toBytes(), units),
    );
  }
}

const unitsIn = ({ meta }: { readonly meta: unknown }): bigint =>
  BigInt(
    (meta as { postTokenBalances: { uiTokenAmount: { amount: string } }[] }).postTokenBalances[0]!.uiTokenAmount.amount,
  );

export interface SolanaLies {
  readonly finalIsHead: boolean;
  /** Shows no transaction by its name, although balance and history have it. */
  readonly withheld: boolean;
}

/** A node of one chain. What it makes up is in a chain of its own. */
export class SolanaModelProvider implements RpcProvider {
  readonly name: string;
  lies: SolanaLies = { finalIsHead: false, withheld: false };
  readonly #chain: SolanaModelChain;

  constructor(name: string, chain: SolanaModelChain) {
    this.name = name;
    this.#chain = chain;
  }

  report(): void {}

  post(): Promise<unknown> {
    return Promise.reject(new ProviderFault('incapable', 'no such call'));
  }

  get(): Promise<unknown> {
    return this.post();
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.lies.withheld && method === 'getTransaction') return null;
    const { state } = this.#chain;
    const reply = replyOf(
      { ...state, ...(this.lies.finalIsHead && { finalizedSlot: state.slot }) },
      { method, params },
    );
    if ('error' in reply) throw new RpcError(reply.error.code, reply.error.message);
    return 'result' in reply ? reply.result : null;
  }
}
