/** The parts of pngjs used for logos. The library has no types. */
declare module 'pngjs' {
  export class PNG {
    constructor(size: { readonly width: number; readonly height: number });
    readonly width: number;
    readonly height: number;
    /** RGBA, one byte each. */
    data: Buffer;
    static readonly sync: { read(file: Buffer): PNG; write(image: PNG): Buffer };
  }
}
