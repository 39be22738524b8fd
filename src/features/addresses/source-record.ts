import type { AddressSourceDeclared, AddressSourceJudged } from '../../domain/events/operations-events.ts';
import { type Mode, MODES } from '../../domain/values/ids.ts';
import { ADDRESS_FAMILIES, type AddressFamily } from '../../domain/networks/networks.ts';
import { addressSourceStream } from '../../domain/values/streams.ts';
import type { AddressOwner, AddressSource } from '../../ports/chain/addresses.ts';
import type { EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';

export interface SourceRecordDeps extends AppendNextDeps {
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  /** Name of this node in its declarations. */
  readonly node: string;
}

/** An address source in the event log. */
interface Declared {
  readonly source: AddressSource;
  /** The signer's last answer; null before the first. */
  readonly isOwn: boolean | null;
}

/**
 * Records in the event log who owns the addresses. Nothing connects to the signer (ADR 0008), so a node that assigns
 * addresses declares their source, and the process with the signer answers in the same stream. See ADR 0039.
 */
export class SourceRecord {
  readonly #deps: SourceRecordDeps;

  constructor(deps: SourceRecordDeps) {
    this.#deps = deps;
  }

  /**
   * The signer's last answer; null before the first. Declares the source if nobody has. Rejects when the store fails.
   */
  async ask(source: AddressSource): Promise<boolean | null> {
    const { mode, family, fingerprint, keys } = source;
    const { last, sources } = await this.#read(mode, family);
    const known = sources.get(fingerprint);
    if (!known) {
      const event: AddressSourceDeclared = {
        type: 'AddressSourceDeclared',
        data: { mode, family, fingerprint, keys, node: this.#deps.node },
      };
      // Another node may have declared a different source first; the next read shows it.
      await this.#append(mode, family, last, event);
    }
    return known?.isOwn ?? null;
  }

  /**
   * Answers for every declared source whose answer is missing or has changed. Rejects when the owner or the store
   * fails.
   */
  async answer(owner: AddressOwner): Promise<void> {
    for (const mode of MODES) for (const family of ADDRESS_FAMILIES) await this.#answer(owner, mode, family);
  }

  async #answer(owner: AddressOwner, mode: Mode, family: AddressFamily): Promise<void> {
    const { sources } = await this.#read(mode, family);
    for (const { source, isOwn: before } of sources.values()) {
      const isOwn = await owner.owns(source);
      if (isOwn === before) continue;
      const { last } = await this.#read(mode, family);
      const event: AddressSourceJudged = {
        type: 'AddressSourceJudged',
        data: { mode, family, fingerprint: source.fingerprint, isOwn },
      };
      await this.#append(mode, family, last, event);
    }
  }

  async #append(
    mode: Mode,
    family: AddressFamily,
    last: RecordedEvent | null,
    event: AddressSourceDeclared | AddressSourceJudged,
  ): Promise<void> {
    await appendNext(this.#deps, {
      stream: addressSourceStream(mode, family),
      last,
      event,
      actor: `node:${this.#deps.node}`,
    });
  }

  async #read(
    mode: Mode,
    family: AddressFamily,
  ): Promise<{ last: RecordedEvent | null; sources: Map<string, Declared> }> {
    const recorded = await this.#deps.store.readStream(addressSourceStream(mode, family));
    const sources = new Map<string, Declared>();
    for (const { event } of recorded.map(decodeEvent)) {
      if (event.type === 'AddressSourceDeclared') {
        const { fingerprint, keys } = event.data;
        sources.set(fingerprint, {
          source: { mode, family, fingerprint, keys },
          isOwn: sources.get(fingerprint)?.isOwn ?? null,
        });
      }
      const judged = event.type === 'AddressSourceJudged' ? sources.get(event.data.fingerprint) : undefined;
      if (event.type === 'AddressSourceJudged' && judged)
        sources.set(event.data.fingerprint, { ...judged, isOwn: event.data.isOwn });
    }
    return { last: recorded.at(-1) ?? null, sources };
  }
}
