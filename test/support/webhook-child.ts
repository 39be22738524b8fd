import { HttpWebhookSender } from '../../src/adapters/webhook-http/sender.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import type { WebhookSender } from '../../src/ports/webhooks/sender.ts';
import { merchantId, TestDirectory, WebhookWorld } from './webhook-world.ts';

/*
 * The delivery process in a process of its own, for tests that kill it. Arguments: data directory, endpoint URL, where
 * to die (the name of a crash point and how often it is passed before), and sessions to write while it runs (first and
 * count).
 */

export type CrashPoint =
  | 'before-schedule'
  | 'after-schedule'
  | 'before-send'
  | 'before-record'
  | 'after-record'
  | 'during-drain'
  | 'never';

const [dataDir, url, crash = 'never', count = '1', first = '0', sessions = '0'] = process.argv.slice(2) as [
  string,
  string,
  CrashPoint?,
  ...string[],
];
let left = Number(count);

function pass(point: CrashPoint): void {
  if (point === crash && --left === 0) process.kill(process.pid, 'SIGKILL');
}

/** Dies around the appends that matter. */
function mortal(store: EventStore): EventStore {
  return new Proxy(store, {
    get(target, name) {
      if (name !== 'append') {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      }
      return async (...[request]: Parameters<EventStore['append']>) => {
        const holds = (type: string): boolean => request.events.some((event) => event.type === type);
        if (holds('DeliveryScheduled')) pass('before-schedule');
        if (holds('DeliveryAttempted')) pass('before-record');
        const result = await target.append(request);
        if (holds('DeliveryScheduled')) pass('after-schedule');
        if (holds('DeliveryAttempted')) pass('after-record');
        return result;
      };
    },
  });
}

const http = new HttpWebhookSender({ allowInsecure: true, ownHosts: [] });
const sender: WebhookSender = {
  send: async (request) => {
    pass('before-send');
    const answer = await http.send(request);
    pass('during-drain');
    return answer;
  },
  close: () => http.close(),
};

const directory = new TestDirectory();
directory.set(merchantId(1), url, { suspended: crash === 'during-drain' });
const limits = { windowPerMerchant: 10, pacePerSec: 200, unrecordedPerMerchant: 5 };
const world = await WebhookWorld.open({ dataDir, directory, sender, store: mortal, process: { limits } });
await world.process.start();
process.on('SIGTERM', () => void world.close().then(() => process.exit(0)));
process.stdout.write('ready\n');
if (crash === 'during-drain') directory.change(merchantId(1), { suspended: false });
for (let session = Number(first); session < Number(first) + Number(sessions); session++) await world.cancelled(session);
