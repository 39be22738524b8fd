import { MODES, parseRefundId } from '../../domain/values/ids.ts';
import { ADDRESS_FAMILIES } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { MerchantRecords } from '../../console/deps.ts';
import { auditLine } from '../../features/audit/lines.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import { Lists } from '../../features/sessions/lists/lists.ts';
import { sessionTimeline } from '../../features/sessions/timeline/timeline.ts';
import { createRefundPresenter } from '../../http/presenters/refund.presenter.ts';
import { createSessionPresenter, type PresenterSettings } from '../../http/presenters/session.presenter.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { TRANSACTIONS_TABLE } from '../../../projections/sessions/transaction-row.ts';
import type { Core } from '../core.ts';
import { listRecords, type ListRecordsDeps } from '../../http/list-records.ts';
import { pagesOf } from '../../runtime/event-log/log-copy.ts';

export interface ConsoleRecordParts {
  readonly core: Core;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly presenter: PresenterSettings;
  readonly confirmationsOf: ListRecordsDeps['confirmationsOf'];
  readonly servedRows: ListRecordsDeps['servedRows'];
}

/** Records of merchants for the console, in the form of the API. */
export function consoleRecords({
  core,
  store,
  readModel,
  clock,
  presenter,
  confirmationsOf,
  servedRows,
}: ConsoleRecordParts): MerchantRecords {
  const sessions = createSessionPresenter(presenter);
  const refund = createRefundPresenter(presenter);
  const lists = listRecords({
    api: core.sessions,
    lists: new Lists({ readModel, cursorKey: core.cursorKey, metadataIndex: null }),
    presenter,
    ...{ networks: presenter.networks, confirmationsOf, servedRows },
  });
  return {
    list: (kind, reader, asked) => lists.list(kind, reader, asked),
    session: async (reader, id) => {
      const view = await core.sessions.getSession(reader, id);
      return view && sessions.session(view);
    },
    refunds: async (reader, id) =>
      ((await core.sessions.getSession(reader, id))?.refunds ?? []).map((view) => refund(view, reader.mode)),
    timeline: (id) => sessionTimeline(store, id, toSec(clock.nowMs())),
    sessionOfTransaction: async (id) => {
      await servedRows();
      return (await readModel.get(TRANSACTIONS_TABLE, id))?.sessionId ?? null;
    },
    sessionOfAddress: (address) => {
      for (const mode of MODES)
        for (const family of ADDRESS_FAMILIES) {
          const found = core.addressIndexes.get(indexKey(mode, family))?.sessionOf(address);
          if (found) return found;
        }
      return null;
    },
    merchantOfSession: async (id) =>
      (await core.sessionHandler.read(sessionStream(id)))?.context.created?.merchantId ?? null,
    sessionOfRefund: async (text) => {
      const id = parseRefundId(text);
      return id && core.sessionOfRefund(id);
    },
  };
}

/** The whole log, in pages. */
export async function* exportedEvents(store: Pick<EventStore, 'readAll'>): AsyncGenerator<string> {
  let written = 0;
  for await (const events of pagesOf(store)) {
    yield events.map((event, index) => `${auditLine(event, written + index + 1)}\n`).join('');
    written += events.length;
  }
}
