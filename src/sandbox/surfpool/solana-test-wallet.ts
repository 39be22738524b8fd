import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Web3 from '@solana/web3.js';
import { parseAmount, toTokenUnits } from '../../domain/money/money.ts';
import { tokenOf, type NetworkSettings, type Token } from '../../domain/networks/networks.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { associatedTokenAccount, TOKEN_PROGRAM, tokenTransfer } from '../../chain-formats/spl-token.ts';
import type { Rpc } from '../json-rpc.ts';
import { KEY_PAYERS, SandboxPaymentFailed, type KeyPayer, type SandboxPaid, type SandboxPayment } from '../chain.ts';
import { CONTRACT_PAYER, contractTokenAccount, isPublicKey, publicKeyOfSeed, secretKeyOfSeed } from './genesis.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { must } from '../../domain/values/must.ts';

/** A transfer as wallets make it: the same transaction creates the receiver's token account when it is missing. */
export interface SolanaTransfer {
  readonly to: string;
  readonly coin: SandboxPayment['coin'];
  readonly units: bigint;
}

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const OVERDRAFT_UNITS = 10n ** 18n;
const LANDING_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

/** Instruction numbers of the Token program, and the offset of the state in an account's bytes. */
const FREEZE_ACCOUNT = 10;
const THAW_ACCOUNT = 11;
const STATE_AT = 108;
const STATE_FROZEN = 2;

/** The funded payers of the sandbox. The Solana library is loaded with the first payment, not at start. */
export class SolanaTestWallet {
  readonly #rpc: Rpc;
  readonly #settings: NetworkSettings;
  readonly #seeds: readonly string[];
  #web3: Promise<typeof Web3> | null = null;
  readonly #turns = new InTurn();

  constructor(parts: { rpc: Rpc; settings: NetworkSettings; seeds: readonly string[] }) {
    this.#rpc = parts.rpc;
    this.#settings = parts.settings;
    this.#seeds = parts.seeds;
  }

  addressOf(payer: KeyPayer): string {
    return base58(publicKeyOfSeed(this.#seedOf(payer)));
  }

  /** 64 bytes: seed and public key. */
  secretKeyOf(payer: KeyPayer): Uint8Array {
    return secretKeyOfSeed(this.#seedOf(payer));
  }

  async pay(payment: SandboxPayment): Promise<SandboxPaid> {
    const { payer = 'first', to, coin } = payment;
    const transfers = [{ to, coin, units: this.#unitsOf(payment) }];
    if (payer !== 'contract') return this.transfer(payer, transfers);
    const paid = await this.transfer('first', transfers, { byContract: true });
    return { ...paid, fromAddress: CONTRACT_PAYER };
  }

  /** Sends more than the payer has and skips the preflight check: the transaction lands as failed. */
  async payAndFail(payment: SandboxPayment): Promise<SandboxPaid> {
    return this.transfer('first', [{ to: payment.to, coin: payment.coin, units: OVERDRAFT_UNITS }], { mayFail: true });
  }

  /** Several transfers in one transaction. Resolves once it is confirmed, whether or not it took effect. */
  async transfer(
    payer: KeyPayer,
    transfers: readonly SolanaTransfer[],
    { mayFail = false, byContract = false }: { readonly mayFail?: boolean; readonly byContract?: boolean } = {},
  ): Promise<SandboxPaid> {
    return this.#carryOut(
      payer,
      (web3, from) =>
        transfers.flatMap((transfer) => this.#instructionsOf(web3, from.toBase58(), transfer, byContract)),
      mayFail,
    );
  }

  /** Plain SOL from the first payer, for accounts that must pay fees. */
  async sendNative(to: string, lamports: number): Promise<SandboxPaid> {
    return this.#carryOut('first', (web3, fromPubkey) => [
      web3.SystemProgram.transfer({ fromPubkey, toPubkey: new web3.PublicKey(to), lamports }),
    ]);
  }

  /** The issuer, here the first payer, freezes or unfreezes the payer's account of a coin. */
  async freeze(payer: KeyPayer, coin: SolanaTransfer['coin'], frozen: boolean): Promise<void> {
    const mint = this.#tokenOf(coin).address;
    const account = associatedTokenAccount(this.addressOf(payer), mint);
    if ((await this.#isFrozen(account)) === frozen) return;
    await this.#carryOut('first', (web3, issuer) => {
      const keys = [
        { pubkey: new web3.PublicKey(account), isSigner: false, isWritable: true },
        { pubkey: new web3.PublicKey(mint), isSigner: false, isWritable: false },
        { pubkey: issuer, isSigner: true, isWritable: false },
      ];
      const data = Buffer.from([frozen ? FREEZE_ACCOUNT : THAW_ACCOUNT]);
      return [new web3.TransactionInstruction({ programId: new web3.PublicKey(TOKEN_PROGRAM), keys, data })];
    });
  }

  async #isFrozen(account: string): Promise<boolean> {
    const { value } = await this.#rpc<{ value: { data: [string] } | null }>('getAccountInfo', [
      account,
      { encoding: 'base64', commitment: 'confirmed' },
    ]);
    return Buffer.from(value?.data[0] ?? '', 'base64')[STATE_AT] === STATE_FROZEN;
  }

  /** One transaction, signed and paid for by the payer. */
  async #carryOut(
    payer: KeyPayer,
    instructionsOf: (web3: typeof Web3, signer: Web3.PublicKey) => readonly Web3.TransactionInstruction[],
    mayFail = false,
  ): Promise<SandboxPaid> {
    return this.#turns.run(async () => {
      const web3 = await this.#load();
      const signer = web3.Keypair.fromSecretKey(this.secretKeyOf(payer));
      const transaction = new web3.Transaction().add(...instructionsOf(web3, signer.publicKey));
      return { txHash: await this.#send(web3, transaction, signer, mayFail), fromAddress: signer.publicKey.toBase58() };
    });
  }

  #instructionsOf(
    web3: typeof Web3,
    payer: string,
    transfer: SolanaTransfer,
    byContract: boolean,
  ): Web3.TransactionInstruction[] {
    const { address, decimals } = this.#tokenOf(transfer.coin);
    if (!isPublicKey(transfer.to)) throw new SandboxPaymentFailed(`${transfer.to} is no Solana address`);
    const instructions = tokenTransfer({
      mint: address,
      fromOwner: payer,
      toOwner: transfer.to,
      units: transfer.units,
      decimals,
      rentPayer: payer,
    });
    // The payer spends as the delegate of the contract, whose account holds the money.
    if (byContract) must(must(instructions[1]).keys[0]).pubkey = new web3.PublicKey(contractTokenAccount(address));
    return instructions;
  }

  /**
   * A random memo distinguishes equal payments: Surfpool's block hashes repeat across restarts, and so would
   * signatures.
   */
  async #send(
    web3: typeof Web3,
    transaction: Web3.Transaction,
    signer: Web3.Signer,
    mayFail: boolean,
  ): Promise<string> {
    const memo = {
      programId: new web3.PublicKey(MEMO_PROGRAM),
      keys: [],
      data: Buffer.from(randomBytes(8).toString('hex')),
    };
    transaction.add(new web3.TransactionInstruction(memo));
    const { value } = await this.#rpc<{ value: { blockhash: string } }>('getLatestBlockhash', [
      { commitment: 'confirmed' },
    ]);
    transaction.recentBlockhash = value.blockhash;
    transaction.feePayer = signer.publicKey;
    transaction.sign(signer);
    const wire = transaction.serialize().toString('base64');
    const options = { encoding: 'base64', skipPreflight: mayFail, preflightCommitment: 'confirmed' };
    const signature = await this.#rpc<string>('sendTransaction', [wire, options]).catch((error: unknown) => {
      throw new SandboxPaymentFailed(error instanceof Error ? error.message : 'refused', { cause: error });
    });
    await this.#landed(signature);
    return signature;
  }

  async #landed(signature: string): Promise<void> {
    const untilMs = performance.now() + LANDING_TIMEOUT_MS;
    while (performance.now() < untilMs) {
      const transaction = await this.#rpc('getTransaction', [
        signature,
        { commitment: 'confirmed', maxSupportedTransactionVersion: 1, encoding: 'json' },
      ]);
      if (transaction !== null) return;
      await sleep(POLL_MS);
    }
    throw new SandboxPaymentFailed(`${signature} did not land in ${LANDING_TIMEOUT_MS} ms`);
  }

  #unitsOf(payment: SandboxPayment): bigint {
    const amount = parseAmount(payment.amount);
    if (amount === null) throw new SandboxPaymentFailed(`cannot pay ${payment.amount} ${payment.coin}`);
    try {
      return toTokenUnits(amount, this.#tokenOf(payment.coin).decimals);
    } catch (error) {
      throw new SandboxPaymentFailed(error instanceof Error ? error.message : 'amount', { cause: error });
    }
  }

  #tokenOf(coin: SandboxPayment['coin']): Token {
    const token = tokenOf(this.#settings, coin);
    if (token === undefined) throw new SandboxPaymentFailed(`${coin} is not on this chain`);
    return token;
  }

  #seedOf(payer: KeyPayer): string {
    return must(this.#seeds[KEY_PAYERS.indexOf(payer)]);
  }

  #load(): Promise<typeof Web3> {
    return (this.#web3 ??= import('@solana/web3.js'));
  }
}
