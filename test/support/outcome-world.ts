import { rmSync } from 'node:fs';
import { callAdmin } from '../../src/cli/admin-client.ts';
import type { AdminArguments } from '../../src/operator/server/commands.ts';
import { eventually, signedCall, startRunningSandbox, type ApiAnswer, type RunningSandbox } from './running-sandbox.ts';
import { startWebhookReceiver, type ReceivedWebhook, type WebhookReceiver } from './webhook-receiver.ts';

export interface Merchant {
  readonly id: string;
  readonly api_key: string;
  readonly api_secret: string;
}

export interface OutcomeSession {
  readonly id: string;
  readonly url: string;
  readonly order_id: string;
  readonly supersedes?: string;
  readonly superseded_by?: string;
  readonly status: string;
  readonly payment_status: string;
  readonly target_currency?: string;
  readonly target_amount_total?: string;
  readonly alternative?: { readonly target_currency: string; readonly target_amount_total: string };
  readonly received: string;
  readonly pending: string;
  readonly excess: string;
  readonly refundable: string;
  readonly refunded: string;
  readonly reversed: boolean;
  readonly expires_at: number;
  readonly payment_options: readonly { readonly network: string; readonly address: string }[];
  readonly deposits: readonly {
    readonly kind: string;
    readonly status: string;
    readonly amount: string;
    readonly coin: string;
    readonly network: string;
    readonly from_address: string;
  }[];
}

/** What the payment page's script is told, as its server renders it. */
interface PageUpdate {
  readonly state: string;
  readonly tone: string;
  readonly headline: string;
  readonly amount_due: string | null;
  readonly network: string | null;
  readonly html: string;
}

/** Addresses on Solana of sessions that are over are looked at once a minute. */
const SETTLED_MS = 90_000;

/** A sandbox, a merchant's endpoint and merchants of every temper, to try outcomes of payments with. */
export class OutcomeWorld {
  readonly sandbox: RunningSandbox;
  readonly #receiver: WebhookReceiver;
  #orders = 0;

  private constructor(sandbox: RunningSandbox, receiver: WebhookReceiver) {
    this.sandbox = sandbox;
    this.#receiver = receiver;
  }

  static async start(): Promise<OutcomeWorld> {
    const receiver = await startWebhookReceiver();
    try {
      return new OutcomeWorld(await startRunningSandbox({ env: { RATE_STATIC: 'EUR=1.08,USDC=0.996' } }), receiver);
    } catch (error) {
      await receiver.close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.sandbox.stop();
    await this.#receiver.close();
    for (const path of [this.sandbox.dataDir, `${this.sandbox.dataDir}-signer`])
      rmSync(path, { recursive: true, force: true });
  }

  /** `policy` as `merchant.set-policy` takes it; `events` beside those that everybody is told. */
  async merchant(name: string, policy?: AdminArguments, events?: string): Promise<Merchant> {
    const admin = (command: string, args: AdminArguments): Promise<unknown> =>
      callAdmin(this.sandbox.dataDir, command, args);
    const merchant = (await admin('merchant.create', {
      name,
      mode: 'test',
      webhookUrl: this.#receiver.url,
    })) as Merchant;
    if (policy) await admin('merchant.set-policy', { merchant_id: merchant.id, ...policy });
    if (events !== undefined) await admin('webhook.set', { merchant_id: merchant.id, events });
    return merchant;
  }

  call(merchant: Merchant, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    return signedCall(this.sandbox.facts.base_url, merchant, method, path, body);
  }

  /** A session over 10.00, USDT unless another currency is named. */
  async create(
    merchant: Merchant,
    currency = 'USDT',
    more: Readonly<Record<string, string>> = {},
  ): Promise<OutcomeSession> {
    this.#orders += 1;
    const order = { amount: '10.00', currency, order_id: `outcome-${this.#orders}`, ...more };
    const { status, json } = await this.call(merchant, 'POST', '/api/v1/checkout/sessions/create', order);
    if (status !== 200) throw new Error(JSON.stringify(json));
    return json as unknown as OutcomeSession;
  }

  async read(merchant: Merchant, { id }: Pick<OutcomeSession, 'id'>): Promise<OutcomeSession> {
    return (await this.call(merchant, 'GET', `/api/v1/checkout/sessions/${id}`)).json as unknown as OutcomeSession;
  }

  /** What the open page of a session shows. */
  async page({ url }: Pick<OutcomeSession, 'url'>): Promise<PageUpdate> {
    return ((await (await fetch(`${url}/status?lang=en`)).json()) as { page: PageUpdate }).page;
  }

  async cancel(merchant: Merchant, { id }: Pick<OutcomeSession, 'id'>): Promise<void> {
    const { status, json } = await this.call(merchant, 'POST', `/api/v1/checkout/sessions/${id}/cancel`);
    if (status !== 200) throw new Error(JSON.stringify(json));
  }

  /** Brings the deadline to now. */
  async expire(merchant: Merchant, { id }: Pick<OutcomeSession, 'id'>): Promise<void> {
    const { status, json } = await this.call(merchant, 'POST', `/v1/sandbox/sessions/${id}/advance`);
    if (status !== 200) throw new Error(JSON.stringify(json));
  }

  /** Lets the sandbox's test wallet pay. */
  async pay(
    merchant: Merchant,
    { id }: Pick<OutcomeSession, 'id'>,
    body: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { status, json } = await this.call(merchant, 'POST', `/v1/sandbox/sessions/${id}/pay`, body);
    if (status !== 200) throw new Error(JSON.stringify(json));
  }

  /** The session once the test holds. */
  settled(
    merchant: Merchant,
    session: OutcomeSession,
    test: (now: OutcomeSession) => boolean,
  ): Promise<OutcomeSession> {
    return eventually(
      `outcome of ${session.id}`,
      async () => {
        const now = await this.read(merchant, session);
        return test(now) ? now : null;
      },
      SETTLED_MS,
    );
  }

  /** The webhooks of a type that told of the session, at least `count`. */
  told(session: OutcomeSession, type: string): Promise<readonly ReceivedWebhook[]> {
    return eventually(
      `${type} of ${session.id}`,
      async () => {
        const found = this.toldSoFar(session, type);
        return found.length >= 1 ? found : null;
      },
      SETTLED_MS,
    );
  }

  toldSoFar(session: OutcomeSession, type: string): readonly ReceivedWebhook[] {
    return this.#receiver.received.filter(
      ({ body }) => body.type === type && body.data.object.session_id === session.id,
    );
  }
}

export const isPaid = (session: OutcomeSession): boolean => session.payment_status === 'paid';
export const allFinal = ({ deposits }: OutcomeSession): boolean =>
  deposits.length > 0 && deposits.every(({ status }) => status === 'final');
