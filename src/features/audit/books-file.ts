import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import { isOfSession } from '../../domain/events/of-streams.ts';
import type { SessionEvent } from '../../domain/events/session-events.ts';
import { sessionOfStream } from '../../domain/values/streams.ts';
import { MODES } from '../../domain/values/ids.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { MakeKeyedMemory } from '../../ports/read-model/keyed-memory.ts';
import type { Cell, CreateTableFile, TableFile } from '../../ports/read-model/table-file.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import { LedgerAgain } from './ledger.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import { BOOKS_SCHEMAS, BOOKS_TABLES, type BooksTable } from './books-tables.ts';
import { must } from '../../domain/values/must.ts';

export interface BooksFileParts {
  readonly path: string;
  /** The event log from its first event, in pages. */
  readonly pages: AsyncIterable<readonly RecordedEvent[]>;
  readonly createTableFile: CreateTableFile;
  readonly memory: MakeKeyedMemory;
  readonly onProgress: (events: number) => void;
}

/** The event log cannot be booked, so no file is written. */
class BooksRefused extends Error {
  override readonly name = 'BooksRefused';
}

/**
 * Writes journal, balances and payments as tables, from the event log alone. Returns the number of events read. Throws
 * `BooksRefused`.
 */
export async function writeBooksFile({
  path,
  pages,
  createTableFile,
  memory,
  onProgress,
}: BooksFileParts): Promise<number> {
  const file = createTableFile(path, BOOKS_SCHEMAS);
  const writer = new BooksWriter(file);
  const books = new LedgerAgain(memory, (entry) => writer.entry(entry));
  const end: { last: RecordedEvent | null; signed: CheckpointSigned['data'] | null } = { last: null, signed: null };
  let taken = 0;
  try {
    for await (const page of pages) {
      for (const recorded of page) {
        const stored = decodeEvent(recorded);
        const fault = await books.take(stored);
        if (fault !== null) throw new BooksRefused(`event ${taken + 1} of the log, in ${recorded.stream}: ${fault}`);
        if (isOfSession(stored)) writer.session(must(sessionOfStream(recorded.stream)), stored.event);
        if (stored.event.type === 'CheckpointSigned') end.signed = stored.event.data;
        taken += 1;
        end.last = recorded;
      }
      onProgress(taken);
    }
    for (const mode of MODES) for (const balance of await books.balances(mode)) writer.balance(mode, balance);
    writer.about({
      ...{ schema: '1', events: String(taken), through_event: end.last?.id ?? '', through_hash: end.last?.hash ?? '' },
      ...{ signed_events: String(end.signed?.size ?? 0), checkpoint: end.signed?.checkpoint ?? '' },
    });
    file.finish();
    return taken;
  } catch (error) {
    file.abandon();
    throw error;
  } finally {
    books.close();
  }
}

class BooksWriter {
  readonly #file: TableFile;
  readonly #totals = new Map<string, { debits: bigint; credits: bigint; lines: number }>();

  constructor(file: TableFile) {
    this.#file = file;
  }

  about(facts: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(facts)) this.#put('about', { name, value });
    for (const [key, { debits, credits, lines }] of this.#totals) {
      const [mode, network, coin] = key.split('/');
      this.#put('totals', {
        mode: must(mode),
        network: must(network),
        coin: must(coin),
        debits: formatAmount(debits),
        credits: formatAmount(credits),
        lines,
      });
    }
  }

  entry({ number: entry, mode, kind, id, days, lines, value, ...row }: EntryRow): void {
    this.#put('entries', {
      ...{ mode, entry, kind, event_id: id, stream: row.stream, revision: row.revision },
      recorded_at: Math.floor(row.recordedAtMs / 1000),
      recorded_day: days.recorded,
      chain_time: row.chainTimeSec,
      chain_day: days.chain,
      merchant_id: row.merchantId,
      order_id: row.orderId,
      session_id: row.sessionId,
      refund_id: row.refundId,
      move_id: row.moveId,
      ...{ reverses: row.reverses, network: row.network, tx_hash: row.txHash, log_index: row.logIndex },
      ...{ block_number: row.blockNumber, block_hash: row.blockHash, fiat_currency: value?.currency },
      fiat_at_locked_rate: value?.atLockedRate,
      fiat_at_settlement_quote: value?.atSettlementQuote,
      fiat_difference: value?.difference,
    });
    for (const [index, { account, network, coin, amount, balance, address }] of lines.entries()) {
      this.#put('lines', {
        mode,
        entry,
        line: index + 1,
        account,
        network,
        coin,
        ...money('amount', amount),
        ...money('balance', balance),
        address,
      });
      const key = `${mode}/${network}/${coin}`;
      const total = this.#totals.get(key) ?? { debits: 0n, credits: 0n, lines: 0 };
      const units = signedAmountOf(amount);
      this.#totals.set(key, {
        debits: total.debits + (units > 0n ? units : 0n),
        credits: total.credits - (units < 0n ? units : 0n),
        lines: total.lines + 1,
      });
    }
  }

  balance(
    mode: string,
    { account, network, coin, units }: { account: string; network: string; coin: string; units: bigint },
  ): void {
    this.#put('balances', { mode, account, network, coin, ...money('balance', formatAmount(units)) });
  }

  /** Applies an event to a payment, its transfers and its refunds. Other session events change none of them. */
  session(sessionId: string, event: SessionEvent): void {
    const { type, data } = event;
    const ofSession = (columns: Record<string, Cell>): void => this.#file.change('payments', [sessionId], columns);
    switch (type) {
      case 'SessionCreated':
        return this.#put('payments', {
          session_id: sessionId,
          mode: data.mode,
          merchant_id: data.merchantId,
          order_id: data.orderId,
          status: 'open',
          currency: data.currency,
          amount: data.amount,
          tax_amount: data.taxAmount,
          shipping_amount: data.shippingAmount,
          rate: data.rateLock?.rate,
          coin: data.dueCoin,
          ...money('due', data.dueAmount),
          created_at: data.createdAtSec,
          ...{ expires_at: data.expiresAtSec, supersedes: data.supersedes },
        });
      case 'SessionPaid': {
        const { coin, due, received, excess, paidAtSec, afterExpiry } = data;
        const paid = { status: 'paid', coin, ...money('due', due), ...money('received', received), excess };
        return ofSession({ ...paid, paid_at: paidAtSec, after_expiry: afterExpiry ? 1 : 0 });
      }
      case 'SessionExpired':
        return ofSession({ status: 'expired', ...money('received', data.received) });
      case 'SessionFailed':
        return ofSession({ status: 'failed', ...money('received', data.received) });
      case 'SessionCancelled':
        return ofSession({ status: 'cancelled', ...money('received', data.received) });
      case 'SessionDeadlineMoved':
        return ofSession({ expires_at: data.expiresAtSec });
      default:
        return this.#money(sessionId, event);
    }
  }

  #money(sessionId: string, { type, data }: SessionEvent): void {
    switch (type) {
      case 'DepositDetected':
        return this.#put('deposits', {
          session_id: sessionId,
          deposit: data.depositKey,
          status: 'seen',
          kind: data.kind,
          network: data.network,
          coin: data.coin,
          ...money('amount', data.amount),
          from_address: data.fromAddress,
          to_address: data.toAddress,
          tx_hash: data.txHash,
          ...{ log_index: data.logIndex, block_number: data.blockNumber, block_time: data.blockTimeSec },
        });
      case 'DepositConfirmed': {
        const block = { block_number: data.blockNumber, block_time: data.blockTimeSec };
        return this.#file.change('deposits', [sessionId, data.depositKey], {
          status: 'final',
          ...block,
          ...(data.kind && { kind: data.kind }),
        });
      }
      case 'DepositReverted':
        return this.#file.change('deposits', [sessionId, data.depositKey], { status: 'reverted' });
      case 'RefundRequested':
        for (const { legId, network, coin, amount, toAddress } of data.legs)
          this.#put('refunds', {
            ...{ refund_id: data.refundId, leg: legId, session_id: sessionId, status: 'requested', network, coin },
            ...{ ...money('amount', amount), to_address: toAddress, requested_at: data.requestedAtSec },
          });
        return;
      case 'RefundPayoutLanded': {
        const { refundId, legId, txHash, blockTimeSec, networkFee } = data;
        const landed = { status: 'paid', tx_hash: txHash, block_time: blockTimeSec, network_fee: networkFee };
        return this.#file.change('refunds', [refundId, legId], landed);
      }
      case 'RefundPayoutReverted':
        return this.#file.change('refunds', [data.refundId, data.legId], {
          status: 'requested',
          tx_hash: null,
          block_time: null,
          network_fee: null,
        });
      case 'RefundPayoutFailed':
        return this.#file.change('refunds', [data.refundId, data.legId], {
          status: 'failed',
          network_fee: data.networkFee,
          failure: data.reason,
        });
      default:
    }
  }

  /** Columns without a value are null. */
  #put(table: BooksTable, row: Readonly<Record<string, Cell | undefined>>): void {
    const columns = Object.keys(BOOKS_TABLES[table].columns);
    const unknown = Object.keys(row).find((column) => !columns.includes(column));
    if (unknown !== undefined) throw new Error(`${table} has no column ${unknown}`);
    this.#file.put(
      table,
      columns.map((column) => row[column] ?? null),
    );
  }
}

const money = (name: string, amount: string): Record<string, Cell> => ({
  [name]: formatAmount(signedAmountOf(amount)),
  [`${name}_real`]: Number(amount),
});
