import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { checkoutRoutes } from '../../src/checkout/checkout.routes.ts';
import type { PageFacts } from '../../src/checkout/page/model.ts';
import type { Network, NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import type { PayerApi } from '../../src/features/shared/merchant-api.ts';
import type { SessionView } from '../../src/features/shared/views.ts';
import { FACTS, NOW_SEC } from './page-sessions.ts';

/** The payment page over one session whose view is set from outside, on a port of its own. */
export interface ServedPages {
  readonly url: string;
  /** Shows another view, and tells open pages. */
  show(view: SessionView, facts?: Partial<PageFacts>): void;
  /** Until the next `show`, nothing can be read. */
  fail(): void;
  /** The same, and what the page's own JSON says then. */
  update(
    view: SessionView,
  ): Promise<{ readonly headline: string; readonly amount_due: string | null; readonly network: string | null }>;
  close(): Promise<void>;
}

export async function servePages(
  first: SessionView,
  shop: Partial<ReturnType<PayerApi['shopOf']>> = {},
  settingsOf: (network: Network) => NetworkSettings | undefined = () => undefined,
): Promise<ServedPages> {
  let view = first;
  let isDown = false;
  let facts: PageFacts = FACTS;
  const changes = new EventEmitter();
  const app = express();
  const server = createServer(app);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  app.use(
    checkoutRoutes({
      api: {
        viewSession: async (id: SessionId) => {
          if (isDown) throw new Error('the event log is away');
          return id === view.sessionId ? view : null;
        },
        shopOf: () => ({ name: 'Mug shop', host: 'mugs.example', contact: null, logo: null, ...shop }),
        onChange: (_id: SessionId, listener: () => void) => {
          changes.on('change', listener);
          return () => changes.off('change', listener);
        },
      },
      log: { error: () => undefined },
      clock: { nowMs: () => NOW_SEC * 1000 },
      publicUrl: url,
      settingsOf: (_session, network) => settingsOf(network),
      chainsOf: () => facts,
      hostsOf: () => ['localhost'],
      payerTransactions: () => null,
      recordOf: () => Promise.resolve(null),
      proofOf: () => Promise.resolve(null),
      sandboxPay: null,
      links: null,
    }),
  );
  const page = `${url}/pay/${first.sessionId}`;
  const show = (next: SessionView, more: Partial<PageFacts> = {}): void => {
    view = next;
    isDown = false;
    facts = { ...FACTS, ...more };
    changes.emit('change');
  };
  return {
    url: page,
    show,
    fail: () => {
      isDown = true;
    },
    update: async (next) => {
      show(next);
      const answer = await fetch(`${page}/status`);
      return (
        (await answer.json()) as { page: { headline: string; amount_due: string | null; network: string | null } }
      ).page;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
