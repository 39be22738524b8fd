import { describe, expect, it, onTestFinished } from 'vitest';
import { vetWebhookUrl } from '../../../src/adapters/webhook-http/url.ts';
import { startDemoShop, type DemoMerchant } from '../../../src/sandbox/demo-shop.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { MemoryEventStore } from '../../support/memory-event-store.ts';
import { ManualClock } from '../../support/price-feed.ts';
import { merchantsOf } from '../../support/merchants.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { BY } from '../../support/by-operator.ts';

/** A sandbox's merchants over starts: `start` is one more of them. */
async function sandbox() {
  const dataDir = temporaryFolder('demo-shop');
  const clock = new ManualClock();
  const store = new MemoryEventStore();
  const { directory, merchants } = await merchantsOf(store, clock, undefined, {
    vetWebhookUrl: (url) => vetWebhookUrl(url, { allowInsecure: true, ownHosts: [] }),
  });
  onTestFinished(() => directory.close());
  const start = async () => {
    const shop = await startDemoShop(
      { merchants, directory },
      { DATA_DIR: dataDir, HEADER_PREFIX: 'X-Service-' },
      clock,
      silentLog,
      false,
    );
    const seen: DemoMerchant[] = [];
    shop.onMerchant((merchant) => seen.push(merchant));
    const { id } = seen[0]!;
    const stop = async (): Promise<void> => {
      shop.detach();
      await shop.inbox.close();
    };
    onTestFinished(stop);
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
      await merchants.setWebhook(first.merchant().id, { url }, BY);
      await first.stop();
      expect((await start()).url()).toBe(url);
    },
  );

  it('shows the current webhook secret, at once and after a restart', async () => {
    const { merchants, clock, start } = await sandbox();
    const first = await start();
    const { id, webhook_secret: old } = first.merchant();
    const issued = await merchants.issueWebhookSecret(id, BY);
    expect(first.merchant().webhook_secret).toBe(old);
    await merchants.activateWebhookSecret(id, BY);
    const secret = issued.ok && issued.value.webhook_secret;
    expect(first.merchant().webhook_secret).toBe(secret);
    await first.stop();
    expect((await start()).merchant().webhook_secret).toBe(secret);

    const next = await merchants.issueWebhookSecret(id, BY);
    clock.advance(25 * 3_600_000);
    expect((await start()).merchant().webhook_secret).toBe(next.ok && next.value.webhook_secret);
  });
});
