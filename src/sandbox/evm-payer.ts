import { getAddress, keccak256, type Wallet } from 'ethers';
import { parseAmount, toTokenUnits } from '../domain/money/money.ts';
import { tokenOf, type NetworkSettings, type Token } from '../domain/networks/networks.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import type { BlockProducer, ExclusiveChain } from './block-producer.ts';
import { CONTRACT_WALLET, TRANSFER } from './evm-tokens.ts';
import { signTransaction, type EvmTransaction } from './evm-transaction.ts';
import { SandboxPaymentFailed, type SandboxPaid, type SandboxPayment } from './chain.ts';
import { messageOf } from '../runtime/util/message-of.ts';

const TRANSFER_GAS = 120_000n;
/** Enough to be accepted, too little to complete a transfer. */
const STARVED_GAS = 25_000n;
const CANCEL_GAS = 21_000n;
const INCLUSION_TIMEOUT_MS = 20_000;

type Call = Omit<EvmTransaction, 'chainId' | 'nonce'>;

/** One test wallet on one chain. Its transactions are signed and submitted one after another, then awaited together. */
export class EvmPayer {
  readonly #wallet: Wallet;
  readonly #producer: BlockProducer;
  readonly #settings: NetworkSettings;
  readonly #contract: string | null;
  readonly #turns = new InTurn();

  /** With a contract, the contract pays when the wallet calls it. */
  constructor(wallet: Wallet, producer: BlockProducer, settings: NetworkSettings, contract: string | null) {
    this.#wallet = wallet;
    this.#producer = producer;
    this.#settings = settings;
    this.#contract = contract;
  }

  get address(): string {
    return this.#contract ?? this.#wallet.address;
  }

  pay(payment: SandboxPayment): Promise<SandboxPaid> {
    return this.#carryOut(this.#transferOf(payment, TRANSFER_GAS));
  }

  /** Any call of a token, such as those reserved for its issuer. */
  async call(token: string, data: string): Promise<void> {
    await this.#carryOut({ to: token, data, gasLimit: TRANSFER_GAS });
  }

  async #carryOut(call: Call): Promise<SandboxPaid> {
    const paid = await this.#submit(call);
    if (!(await this.#succeeded(paid.txHash)))
      throw new SandboxPaymentFailed(`the token refused the payment (${paid.txHash})`);
    return paid;
  }

  async payAndFail(payment: SandboxPayment): Promise<SandboxPaid> {
    const paid = await this.#submit(this.#transferOf(payment, STARVED_GAS));
    if (await this.#succeeded(paid.txHash))
      throw new SandboxPaymentFailed('the payment went through although it was meant to fail');
    return paid;
  }

  /** `seenMs`: how long the payment's block stays before it is replaced. */
  payThenReorg(payment: SandboxPayment, seenMs: number): Promise<SandboxPaid> {
    return this.#thenReplaceBlock(payment, seenMs, async (chain, own) => {
      await chain.mine();
      await chain.rpc('eth_sendRawTransaction', [own.raw]);
    });
  }

  payThenLose(payment: SandboxPayment, seenMs: number): Promise<SandboxPaid> {
    return this.#thenReplaceBlock(payment, seenMs, async (chain, own) => {
      const cancel = await this.#sign({ nonce: own.nonce, to: this.#wallet.address, data: '0x', gasLimit: CANCEL_GAS });
      await chain.rpc('eth_sendRawTransaction', [cancel]);
    });
  }

  /** Signs and sends under this wallet's lock, then waits for the block outside it. */
  async #submit(call: Call): Promise<SandboxPaid> {
    const { txHash, included } = await this.#turns.run(async () => {
      const raw = await this.#sign({ ...call, nonce: await this.#nextNonce() });
      const included = this.#producer.inclusionOf(keccak256(raw), INCLUSION_TIMEOUT_MS);
      included.catch(() => {});
      return { txHash: await this.#producer.rpc<string>('eth_sendRawTransaction', [raw]), included };
    });
    try {
      await included;
    } catch (error) {
      throw new SandboxPaymentFailed(messageOf(error));
    }
    return { txHash, fromAddress: this.address };
  }

  #thenReplaceBlock(
    payment: SandboxPayment,
    seenMs: number,
    after: (chain: ExclusiveChain, own: { raw: string; nonce: number }) => Promise<void>,
  ): Promise<SandboxPaid> {
    const call = this.#transferOf(payment, TRANSFER_GAS);
    return this.#turns.run(() =>
      this.#producer.exclusive(async (chain) => {
        const nonce = await this.#nextNonce();
        const raw = await this.#sign({ ...call, nonce });
        const txHash = await chain.rpc<string>('eth_sendRawTransaction', [raw]);
        await chain.mine();
        await new Promise((resolve) => setTimeout(resolve, seenMs));
        const displaced = await chain.dropNewestBlock();
        await after(chain, { raw, nonce });
        for (const other of displaced) if (other !== raw) await chain.rpc('eth_sendRawTransaction', [other]);
        await chain.mine();
        return { txHash, fromAddress: this.address };
      }),
    );
  }

  #transferOf({ coin, to, amount }: SandboxPayment, gasLimit: bigint): Call {
    const token = tokenOf(this.#settings, coin);
    if (!token) throw new SandboxPaymentFailed(`there is no ${coin} on ${this.#settings.network}`);
    const [payee, units] = [addressOf(to), unitsOf(amount, token)];
    if (this.#contract === null)
      return { to: token.address, data: TRANSFER.encodeFunctionData('transfer', [payee, units]), gasLimit };
    return {
      to: this.#contract,
      data: CONTRACT_WALLET.encodeFunctionData('pay', [token.address, payee, units]),
      gasLimit,
    };
  }

  async #nextNonce(): Promise<number> {
    return Number(await this.#producer.rpc<string>('eth_getTransactionCount', [this.#wallet.address, 'pending']));
  }

  #sign(transaction: Omit<EvmTransaction, 'chainId'>): Promise<string> {
    return signTransaction(this.#wallet, { ...transaction, chainId: Number(this.#settings.chainId) });
  }

  async #succeeded(txHash: string): Promise<boolean> {
    const receipt = await this.#producer.rpc<{ status: string } | null>('eth_getTransactionReceipt', [txHash]);
    if (!receipt) throw new SandboxPaymentFailed(`the chain forgot ${txHash}`);
    return receipt.status === '0x1';
  }
}

function addressOf(text: string): string {
  try {
    return getAddress(text);
  } catch {
    throw new SandboxPaymentFailed('not an EVM address');
  }
}

function unitsOf(amount: string, { coin, decimals }: Token): bigint {
  const units = parseAmount(amount);
  if (units === null || units === 0n) throw new SandboxPaymentFailed('not an amount above zero');
  try {
    return toTokenUnits(units, decimals);
  } catch {
    throw new SandboxPaymentFailed(`${coin} has ${decimals} decimals here`);
  }
}
