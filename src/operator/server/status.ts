import type { DeliveriesUnderWay } from '../../features/webhooks/under-way.ts';
import type { ProjectionStatus } from '../../runtime/projections/status.ts';
import { json, type AdminCommands } from './commands.ts';

/** What the status page shows. */
interface ServiceFacts {
  readonly ready: boolean;
  readonly readOnly: boolean;
  readonly version: string;
  readonly upSec: number;
  readonly facts: readonly { readonly name: string; readonly state: string; readonly detail?: string }[];
  readonly webhooks: DeliveriesUnderWay;
}

/** `quittance status`: whether the process is ready, what it checks, what waits, and how far its look-ups are behind. */
export const statusCommands = (
  service: { status(): ServiceFacts },
  projections: { status(): readonly ProjectionStatus[] },
): AdminCommands => ({
  'service.status': async () => {
    const { ready, readOnly, version, upSec, facts, webhooks } = service.status();
    return json({
      ...{ ready, read_only: readOnly, version, up_seconds: upSec },
      checks: facts.map(({ name, state, detail = null }) => ({ name, state, detail })),
      webhooks: {
        waiting: webhooks.waiting,
        oldest_age_seconds: webhooks.oldestAgeSec,
        in_flight: webhooks.inFlight,
        retrying: webhooks.retrying,
        suspended_endpoints: webhooks.suspended,
      },
      look_ups: projections.status().map(({ projection, position, hasCaughtUp, lagEvents, lagSec }) => ({
        ...{ name: projection, position, caught_up: hasCaughtUp, lag_events: lagEvents, lag_seconds: lagSec },
      })),
    });
  },
});
