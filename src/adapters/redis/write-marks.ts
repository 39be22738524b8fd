import { randomUUID } from 'node:crypto';

/** What one apply may build on, and the mark that it leaves. */
export interface WriteMark {
  /** Marks of which one must be stored; null where this instance has not looked yet. */
  readonly expected: readonly string[] | null;
  readonly mark: string;
}

/**
 * The states of one projection's rows that this instance knows to be its own. Every apply leaves a random mark beside the checkpoint, so a state
 * is told from another one at the same checkpoint: rows lost and filled again by somebody else are not taken for those that were read.
 */
export class WriteMarks {
  #known: string | null = null;
  /** Sent and not answered, oldest first. */
  #sent: string[] = [];
  /** Whether what was sent last was done is not known: any of it may be the state now. */
  #isDoubtful = false;

  begin(mark: string): void {
    this.#known = mark;
    this.#sent = [];
    this.#isDoubtful = false;
  }

  /** Applies that follow each other need not wait. */
  next(): WriteMark {
    const mark = randomUUID();
    const expected = this.#expected();
    this.#sent.push(mark);
    return { expected, mark };
  }

  done(mark: string): void {
    const index = this.#sent.indexOf(mark);
    // Begun again since: what was known then does not count.
    if (index < 0) return;
    this.#known = mark;
    this.#sent.splice(0, index + 1);
    if (this.#sent.length === 0) this.#isDoubtful = false;
  }

  refused(mark: string): void {
    this.#sent = this.#sent.filter((sent) => sent !== mark);
    this.#isDoubtful = true;
  }

  unanswered(): void {
    this.#isDoubtful = true;
  }

  #expected(): string[] | null {
    if (this.#isDoubtful) return this.#known === null ? null : [this.#known, ...this.#sent];
    const last = this.#sent.at(-1) ?? this.#known;
    return last === null ? null : [last];
  }
}
