/** The part of the library that logos are read and written with; it brings no types. */
declare module 'pngjs' {
  export class PNG {
    constructor(size: { readonly width: number; readonly height: number });
    readonly width: number;
    readonly height: number;
    /** Red, green, blue, alpha, a byte each. */
    data: Buffer;
    static readonly sync: { read(file: Buffer): PNG; write(image: PNG): Buffer };
  }
}
