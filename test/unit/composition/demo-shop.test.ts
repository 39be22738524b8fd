import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { vetWebhookUrl } from '../../../src/adapters/webhook-http/url.ts';
import { startDemoShop, type DemoMerchant } from '../../../src/composition/demo-shop.ts';
import { MerchantDirectory } from '../../../src/features/merchants/directory.ts';
import { Merchants } from '../../../src/features/merchants/merchants.ts';
import { createMerchantHandler } from '../../../src/features/shared/handlers/merchant-handler.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { NotificationIds } from '../../../src/runtime/commands/notification-ids.ts';
import { createSealer, parseMasterKeys } from '../../../src/runtime/util/sealing.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';
import { ManualClock } from '../../support/price-feed.ts';

const FLOOR = { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A sandbox's merchants over starts: `start` is one more of them. */
async function sandbox() {
  const dataDir = mkdtempSync(join(tmpdir(), 'quittance-demo-shop-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock = new ManualClock();
  const store = new MemoryEventStore();
  const sealer = createSealer(parseMasterKeys('a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899aabbccddeeff0'));
  const directory = new MerchantDirectory({ store, sealer });
  await directory.start();
  cleanups.push(() => directory.close());
  const handler = createMerchantHandler({
    store,
    clock,
    random: nodeRandom,
    notificationIds: new NotificationIds(clock),
    soleWriter: true,
  });
  const vet = (url: string) => vetWebhookUrl(url, { allowInsecure: true, ownHosts: [] });
  const merchants = new Merchants({
    handler,
    directory,
    sealer,
    random: nodeRandom,
    clock,
    vetWebhookUrl: vet,
    finalityFloor: FLOOR,
    toleranceMaxPercent: 5,
    changeDelayMinutes: 0,
  });
  const start = async () => {
    const shop = await startDemoShop(
      { merchants, directory },
      { DATA_DIR: dataDir, HEADER_PREFIX: 'X-Service-' },
      clock,
      silentLog,
    );
    const seen: DemoMerchant[] = [];
    shop.onMerchant((merchant) => seen.push(merchant));
    const { id } = seen[0]!;
    const stop = async (): Promise<void> => {
      shop.detach();
      await shop.inbox.close();
    };
    cleanups.push(stop);
    return {
      inbox: shop.inbox,
      merchant: () => seen.at(-1)!,
      url: () => merchants.getMerchant(id)?.webhook?.url,
      stop,
    };
  };
  return { merchants, clock, start };
}

describe('the demo shop of a sandbox', () => {
  it('is notified at its inbox from the first start', async () => {
    const { start } = await sandbox();
    const first = await start();
    expect(first.url()).toBe(first.inbox.webhookUrl);
    await first.stop();
    const second = await start();
    expect(second.url()).toBe(second.inbox.webhookUrl);
    expect(second.merchant()).toEqual(first.merchant());
  });

  it.each(['http://127.0.0.1:9444/own', null])(
    'keeps the webhook URL %s that its user set across a restart',
    async (url) => {
      const { merchants, start } = await sandbox();
      const first = await start();
      await merchants.setWebhook(first.merchant().id, { url });
      await first.stop();
      expect((await start()).url()).toBe(url);
    },
  );

  it('shows the current webhook secret, at once and after a restart', async () => {
    const { merchants, clock, start } = await sandbox();
    const first = await start();
    const { id, webhook_secret: old } = first.merchant();
    const issued = await merchants.issueWebhookSecret(id);
    expect(first.merchant().webhook_secret).toBe(old);
    await merchants.activateWebhookSecret(id);
    const secret = issued.ok && issued.value.webhook_secret;
    expect(first.merchant().webhook_secret).toBe(secret);
    await first.stop();
    expect((await start()).merchant().webhook_secret).toBe(secret);

    const next = await merchants.issueWebhookSecret(id);
    clock.advance(25 * 3_600_000);
    expect((await start()).merchant().webhook_secret).toBe(next.ok && next.value.webhook_secret);
  });
});
