/** The slots of a cluster. */
const SLOTS = 16_384;

/** The hash slot of a key, by which a cluster decides on which node it is: CRC16 (XMODEM) of the text in the braces. */
export function slotOf(key: string): number {
  const tag = key.slice(key.indexOf("{") + 1, key.indexOf("}"));
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % SLOTS;
}
