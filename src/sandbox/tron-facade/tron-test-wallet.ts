import type { TronWeb } from 'tronweb';
import { parseAmount, toTokenUnits } from '../../domain/money/money.ts';
import { tokenOf, type NetworkSettings } from '../../domain/networks/networks.ts';
import { KEY_PAYERS, SandboxPaymentFailed, type KeyPayer, type SandboxPaid, type SandboxPayment } from '../chain.ts';
import type { Broadcast, FacadeChain } from './chain.ts';
import { payerBase58 } from './genesis.ts';
import { base58Of } from './tron-codec.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { must } from '../../domain/values/must.ts';

/** A transaction built and signed by tronweb, as wallets do. */
interface SignedTransaction {
  readonly txID: string;
  readonly raw_data_hex: string;
  readonly signature: string[];
}

const FEE_LIMIT_SUN = 40_000_000;
const OVERDRAFT_UNITS = 10n ** 30n;

/** The funded payers of the sandbox. Tronweb is loaded with the first payment, not at start. */
export class TronTestWallet {
  readonly #chain: FacadeChain;
  readonly #settings: NetworkSettings;
  readonly #url: string;
  readonly #keys: readonly string[];
  #web: Promise<TronWeb> | null = null;
  /** Equal payments in the same millisecond would be the same transaction on TRON. */
  readonly #turns = new InTurn();

  constructor(parts: { chain: FacadeChain; settings: NetworkSettings; url: string; keys: readonly string[] }) {
    this.#chain = parts.chain;
    this.#settings = parts.settings;
    this.#url = parts.url;
    this.#keys = parts.keys;
  }

  addressOf(payer: KeyPayer): string {
    return payerBase58(this.privateKeyOf(payer));
  }

  /** Hex. */
  privateKeyOf(payer: KeyPayer): string {
    return must(this.#keys[KEY_PAYERS.indexOf(payer)]);
  }

  async pay(payment: SandboxPayment): Promise<SandboxPaid> {
    return this.#send(payment, this.#unitsOf(payment), (signed) =>
      this.#chain.broadcast(signed.raw_data_hex, signed.signature),
    );
  }

  async payThenFork(payment: SandboxPayment, again: boolean): Promise<SandboxPaid> {
    return this.#send(
      payment,
      this.#unitsOf(payment),
      (signed) => this.#chain.broadcastAndFork(signed.raw_data_hex, signed.signature, again),
      again,
    );
  }

  /** Sends more than the payer has: the contract reverts and the transaction stays in its block as failed. */
  async payAndFail(payment: SandboxPayment): Promise<SandboxPaid> {
    return this.#send(payment, OVERDRAFT_UNITS, (signed) =>
      this.#chain.broadcast(signed.raw_data_hex, signed.signature),
    );
  }

  /** Plain TRX from the first payer, for accounts that must pay fees. */
  async sendNative(to: string, sun: number): Promise<SandboxPaid> {
    const key = this.privateKeyOf('first');
    const answer = await this.#turns.run(async () => {
      const web = await this.#load();
      const transaction = await web.transactionBuilder.sendTrx(to, sun, payerBase58(key));
      const signed = (await web.trx.sign(transaction, key)) as unknown as SignedTransaction;
      return this.#chain.broadcast(signed.raw_data_hex, signed.signature);
    });
    return this.#settle(answer, payerBase58(key), true);
  }

  async #send(
    payment: SandboxPayment,
    units: bigint,
    broadcast: (signed: SignedTransaction) => Promise<Broadcast>,
    stays = true,
  ): Promise<SandboxPaid> {
    const token = tokenOf(this.#settings, payment.coin);
    if (token === undefined) throw new SandboxPaymentFailed(`${payment.coin} is not on this chain`);
    const { payer = 'first' } = payment;
    const transfer = [
      { type: 'address', value: payment.to },
      { type: 'uint256', value: units.toString() },
    ];
    const contract = base58Of(this.#chain.contracts.wallet);
    // The caller of the paying contract is irrelevant to the payment.
    const key = this.privateKeyOf(payer === 'contract' ? 'first' : payer);
    const { from, to, method, parameters } =
      payer === 'contract'
        ? {
            from: contract,
            to: contract,
            method: 'pay(address,address,uint256)',
            parameters: [{ type: 'address', value: token.address }, ...transfer],
          }
        : { from: payerBase58(key), to: token.address, method: 'transfer(address,uint256)', parameters: transfer };
    const answer = await this.#turns.run(async () => {
      const web = await this.#load();
      const options = { feeLimit: FEE_LIMIT_SUN, txLocal: true };
      const built = await web.transactionBuilder.triggerSmartContract(
        to,
        method,
        options,
        parameters,
        payerBase58(key),
      );
      const signed = (await web.trx.sign(built.transaction, key)) as unknown as SignedTransaction;
      return broadcast(signed);
    });
    return this.#settle(answer, from, stays);
  }

  async #settle(answer: Broadcast, fromAddress: string, stays: boolean): Promise<SandboxPaid> {
    if (answer.code !== 'SUCCESS') throw new SandboxPaymentFailed(`${answer.code}: ${answer.message}`);
    if (stays) await this.#chain.included(answer.txId);
    return { txHash: answer.txId, fromAddress };
  }

  #unitsOf(payment: SandboxPayment): bigint {
    const amount = parseAmount(payment.amount);
    const token = tokenOf(this.#settings, payment.coin);
    if (amount === null || token === undefined)
      throw new SandboxPaymentFailed(`cannot pay ${payment.amount} ${payment.coin}`);
    try {
      return toTokenUnits(amount, token.decimals);
    } catch (error) {
      throw new SandboxPaymentFailed(error instanceof Error ? error.message : 'amount', { cause: error });
    }
  }

  #load(): Promise<TronWeb> {
    this.#web ??= import('tronweb').then(({ TronWeb }) => new TronWeb({ fullHost: this.#url }));
    return this.#web;
  }
}
