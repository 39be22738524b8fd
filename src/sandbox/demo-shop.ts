import type { KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { parseMerchantId, type MerchantId } from '../domain/values/ids.ts';
import type { MerchantDirectory } from '../features/merchants/directory.ts';
import type { Merchants } from '../features/merchants/merchants.ts';
import type { Sessions } from '../features/sessions/sessions.ts';
import type { Outcome } from '../features/shared/merchant-api.ts';
import type { SessionView } from '../features/shared/views.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { startWebhookInbox, type WebhookInbox } from './webhook-inbox.ts';
import { writePrivate } from '../runtime/files/private-file.ts';

const demoMerchantFile = z.object({
  id: z.custom<MerchantId>((id) => typeof id === 'string' && parseMerchantId(id) !== null),
  api_key: z.string(),
  api_secret: z.string(),
  webhook_secret: z.string(),
  /** The last URL of the inbox; any other webhook URL was set by the user. */
  inbox_url: z.string().optional(),
});

type KeptMerchant = z.infer<typeof demoMerchantFile>;

/** In the form of `sandbox.json`. */
export type DemoMerchant = Omit<KeptMerchant, 'inbox_url'>;

interface DemoShopCore {
  readonly merchants: Merchants;
  readonly directory: MerchantDirectory;
}

export interface DemoShop {
  readonly merchantId: MerchantId;
  readonly inbox: WebhookInbox;
  /** Called at once, and again when the webhook secret changes. */
  onMerchant(listener: (merchant: DemoMerchant) => void): void;
  /** Stops following changes. */
  detach(): void;
}

/**
 * A shop for trying things, with an inbox that shows its webhooks. Every start uses the same merchant with the user's
 * changes; the inbox keeps its port if possible.
 */
export async function startDemoShop(
  core: DemoShopCore,
  { DATA_DIR: dataDir, HEADER_PREFIX: headerPrefix }: Pick<Config, 'DATA_DIR' | 'HEADER_PREFIX'>,
  clock: Clock,
  log: Log,
  readOnly: boolean,
): Promise<DemoShop> {
  const file = join(dataDir, 'demo-merchant.json');
  let merchant = await demoMerchant(core, file, readOnly);
  const before = merchant.inbox_url;
  const inbox = await startWebhookInbox({
    headerPrefix,
    port: before === undefined ? 0 : Number(new URL(before).port),
  });
  inbox.trust(merchant.webhook_secret);
  const url = core.merchants.getMerchant(merchant.id)?.webhook?.url;
  if (!readOnly && (before === undefined || (url === before && url !== inbox.webhookUrl))) {
    const set = await core.merchants.setWebhook(merchant.id, { url: inbox.webhookUrl }, BY_SANDBOX);
    if (!set.ok) log.warn({ reason: set.refusal.message }, 'the demo shop has no webhook inbox');
  }
  const listeners: ((merchant: DemoMerchant) => void)[] = [];
  const keep = (change: Partial<KeptMerchant>): void => {
    merchant = { ...merchant, ...change };
    writePrivate(file, JSON.stringify(merchant));
  };
  const shown = (): DemoMerchant => {
    const { inbox_url: _, ...facts } = merchant;
    return facts;
  };
  const follow = (): void => {
    const endpoint = core.directory.endpointOf(merchant.id);
    if (!endpoint) return;
    const { secret, nextSecret } = endpoint;
    for (const key of [secret, ...(nextSecret ? [nextSecret.key] : [])]) inbox.trust(textOf(key));
    const current = textOf(nextSecret && nextSecret.activatesAtSec <= toSec(clock.nowMs()) ? nextSecret.key : secret);
    if (current === merchant.webhook_secret) return;
    keep({ webhook_secret: current });
    for (const listener of listeners) listener(shown());
  };
  keep({ inbox_url: inbox.webhookUrl });
  follow();
  const detach = core.directory.onEndpointChange((id) => (id === merchant.id ? follow() : undefined));
  return {
    merchantId: merchant.id,
    inbox,
    onMerchant: (listener) => {
      listeners.push(listener);
      listener(shown());
    },
    detach,
  };
}

/** An order as the shop itself would create it; its page leads back to the sandbox's home page. */
export function demoOrder(
  { core, baseUrl }: { readonly core: { readonly sessions: Sessions }; readonly baseUrl: string },
  merchantId: MerchantId,
  random: Random,
): Promise<Outcome<SessionView>> {
  const requestId = random.uuid();
  return core.sessions.createSession(
    { merchantId, mode: 'test', requestId },
    {
      ...{ amount: '12.50', currency: 'EUR', orderId: `demo-${requestId.slice(0, 8)}`, description: 'A demo order' },
      lineItems: [{ price_data: { currency: 'EUR', unit_amount: '6.25', product_data: { name: 'Mug' } }, quantity: 2 }],
      ...{ successUrl: `${baseUrl}/`, cancelUrl: `${baseUrl}/` },
    },
  );
}

const BY_SANDBOX = { actor: 'operator', correlationId: 'demo-shop' };
/** Shown if a damaged log has lost the shop. */
const NOBODY: DemoMerchant = { id: '' as MerchantId, api_key: '', api_secret: '', webhook_secret: '' };

const textOf = (key: KeyObject): string => key.export().toString();

async function demoMerchant(
  { merchants, directory }: DemoShopCore,
  file: string,
  readOnly: boolean,
): Promise<KeptMerchant> {
  const known = existsSync(file) ? demoMerchantFile.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
  if (known && (readOnly || directory.settings(known.id))) return known;
  if (readOnly) return NOBODY;
  const created = await merchants.registerMerchant({ name: 'Demo shop', mode: 'test' }, BY_SANDBOX);
  if (!created.ok) throw new Error(created.refusal.message);
  const { id, api_key, api_secret, webhook_secret } = created.value;
  return { id, api_key, api_secret, webhook_secret };
}
