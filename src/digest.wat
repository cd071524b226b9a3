;; The digests git and zlib need, for digest.ts. What is digested begins at 1024 and goes up to $end; for SHA-1 and
;; SHA-256 it is padded to blocks of 64 bytes already.
(module
  ;; 0: the constants of SHA-256. 256: the schedule of a block. 576: the state. 1024: what is digested.
  (memory (export "memory") 2)
  (data (i32.const 0)
    "\98\2f\8a\42\91\44\37\71\cf\fb\c0\b5\a5\db\b5\e9\5b\c2\56\39\f1\11\f1\59\a4\82\3f\92\d5\5e\1c\ab"
    "\98\aa\07\d8\01\5b\83\12\be\85\31\24\c3\7d\0c\55\74\5d\be\72\fe\b1\de\80\a7\06\dc\9b\74\f1\9b\c1"
    "\c1\69\9b\e4\86\47\be\ef\c6\9d\c1\0f\cc\a1\0c\24\6f\2c\e9\2d\aa\84\74\4a\dc\a9\b0\5c\da\88\f9\76"
    "\52\51\3e\98\6d\c6\31\a8\c8\27\03\b0\c7\7f\59\bf\f3\0b\e0\c6\47\91\a7\d5\51\63\ca\06\67\29\29\14"
    "\85\0a\b7\27\38\21\1b\2e\fc\6d\2c\4d\13\0d\38\53\54\73\0a\65\bb\0a\6a\76\2e\c9\c2\81\85\2c\72\92"
    "\a1\e8\bf\a2\4b\66\1a\a8\70\8b\4b\c2\a3\51\6c\c7\19\e8\92\d1\24\06\99\d6\85\35\0e\f4\70\a0\6a\10"
    "\16\c1\a4\19\08\6c\37\1e\4c\77\48\27\b5\bc\b0\34\b3\0c\1c\39\4a\aa\d8\4e\4f\ca\9c\5b\f3\6f\2e\68"
    "\ee\82\8f\74\6f\63\a5\78\14\78\c8\84\08\02\c7\8c\fa\ff\be\90\eb\6c\50\a4\f7\a3\f9\be\f2\78\71\c6")

  ;; Four bytes as a number, the first the most significant.
  (func $load (param $at i32) (result i32)
    (local $x i32)
    (local.set $x (i32.load (local.get $at)))
    (i32.or
      (i32.and (i32.rotl (local.get $x) (i32.const 8)) (i32.const 0x00ff00ff))
      (i32.and (i32.rotr (local.get $x) (i32.const 8)) (i32.const 0xff00ff00))))

  (func $fill (param $at i32)
    (local $t i32)
    (loop $next
      (i32.store offset=256 (local.get $t) (call $load (i32.add (local.get $at) (local.get $t))))
      (br_if $next (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 4))) (i32.const 64)))))

  (func $add (param $at i32) (param $x i32)
    (i32.store offset=576 (local.get $at) (i32.add (i32.load offset=576 (local.get $at)) (local.get $x))))

  (func (export "sha1") (param $end i32)
    (local $at i32) (local $t i32) (local $a i32) (local $b i32) (local $c i32) (local $d i32) (local $e i32) (local $f i32)
    (local.set $at (i32.const 1024))
    (loop $block
      (call $fill (local.get $at))
      (local.set $t (i32.const 64))
      (loop $next
        (i32.store offset=256 (local.get $t)
          (i32.rotl
            (i32.xor
              (i32.xor (i32.load offset=244 (local.get $t)) (i32.load offset=224 (local.get $t)))
              (i32.xor (i32.load offset=200 (local.get $t)) (i32.load offset=192 (local.get $t))))
            (i32.const 1)))
        (br_if $next (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 4))) (i32.const 320))))
      (local.set $a (i32.load (i32.const 576)))
      (local.set $b (i32.load (i32.const 580)))
      (local.set $c (i32.load (i32.const 584)))
      (local.set $d (i32.load (i32.const 588)))
      (local.set $e (i32.load (i32.const 592)))
      (local.set $t (i32.const 0))
      (loop $round
        (if (i32.lt_u (local.get $t) (i32.const 80))
          (then (local.set $f (i32.add (i32.const 0x5a827999)
            (i32.xor (local.get $d) (i32.and (local.get $b) (i32.xor (local.get $c) (local.get $d)))))))
          (else (if (i32.lt_u (local.get $t) (i32.const 160))
            (then (local.set $f (i32.add (i32.const 0x6ed9eba1)
              (i32.xor (local.get $b) (i32.xor (local.get $c) (local.get $d))))))
            (else (if (i32.lt_u (local.get $t) (i32.const 240))
              (then (local.set $f (i32.add (i32.const 0x8f1bbcdc)
                (i32.or (i32.and (local.get $b) (local.get $c))
                  (i32.and (local.get $d) (i32.or (local.get $b) (local.get $c)))))))
              (else (local.set $f (i32.add (i32.const 0xca62c1d6)
                (i32.xor (local.get $b) (i32.xor (local.get $c) (local.get $d)))))))))))
        (local.set $f (i32.add (i32.add (local.get $f) (local.get $e))
          (i32.add (i32.rotl (local.get $a) (i32.const 5)) (i32.load offset=256 (local.get $t)))))
        (local.set $e (local.get $d))
        (local.set $d (local.get $c))
        (local.set $c (i32.rotl (local.get $b) (i32.const 30)))
        (local.set $b (local.get $a))
        (local.set $a (local.get $f))
        (br_if $round (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 4))) (i32.const 320))))
      (call $add (i32.const 0) (local.get $a))
      (call $add (i32.const 4) (local.get $b))
      (call $add (i32.const 8) (local.get $c))
      (call $add (i32.const 12) (local.get $d))
      (call $add (i32.const 16) (local.get $e))
      (br_if $block (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $end)))))

  (func (export "sha256") (param $end i32)
    (local $at i32) (local $t i32) (local $x i32) (local $y i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32) (local $e i32) (local $f i32) (local $g i32) (local $h i32)
    (local.set $at (i32.const 1024))
    (loop $block
      (call $fill (local.get $at))
      (local.set $t (i32.const 64))
      (loop $next
        (local.set $x (i32.load offset=196 (local.get $t)))
        (local.set $y (i32.load offset=248 (local.get $t)))
        (i32.store offset=256 (local.get $t)
          (i32.add
            (i32.add
              (i32.xor (i32.shr_u (local.get $x) (i32.const 3))
                (i32.xor (i32.rotr (local.get $x) (i32.const 7)) (i32.rotr (local.get $x) (i32.const 18))))
              (i32.xor (i32.shr_u (local.get $y) (i32.const 10))
                (i32.xor (i32.rotr (local.get $y) (i32.const 17)) (i32.rotr (local.get $y) (i32.const 19)))))
            (i32.add (i32.load offset=192 (local.get $t)) (i32.load offset=228 (local.get $t)))))
        (br_if $next (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 4))) (i32.const 256))))
      (local.set $a (i32.load (i32.const 576)))
      (local.set $b (i32.load (i32.const 580)))
      (local.set $c (i32.load (i32.const 584)))
      (local.set $d (i32.load (i32.const 588)))
      (local.set $e (i32.load (i32.const 592)))
      (local.set $f (i32.load (i32.const 596)))
      (local.set $g (i32.load (i32.const 600)))
      (local.set $h (i32.load (i32.const 604)))
      (local.set $t (i32.const 0))
      (loop $round
        (local.set $x
          (i32.add
            (i32.add
              (i32.add (local.get $h) (i32.load (local.get $t)))
              (i32.add (i32.load offset=256 (local.get $t))
                (i32.xor (local.get $g) (i32.and (local.get $e) (i32.xor (local.get $f) (local.get $g))))))
            (i32.xor (i32.rotr (local.get $e) (i32.const 6))
              (i32.xor (i32.rotr (local.get $e) (i32.const 11)) (i32.rotr (local.get $e) (i32.const 25))))))
        (local.set $y
          (i32.add
            (i32.or (i32.and (local.get $a) (local.get $b))
              (i32.and (local.get $c) (i32.or (local.get $a) (local.get $b))))
            (i32.xor (i32.rotr (local.get $a) (i32.const 2))
              (i32.xor (i32.rotr (local.get $a) (i32.const 13)) (i32.rotr (local.get $a) (i32.const 22))))))
        (local.set $h (local.get $g))
        (local.set $g (local.get $f))
        (local.set $f (local.get $e))
        (local.set $e (i32.add (local.get $d) (local.get $x)))
        (local.set $d (local.get $c))
        (local.set $c (local.get $b))
        (local.set $b (local.get $a))
        (local.set $a (i32.add (local.get $x) (local.get $y)))
        (br_if $round (i32.lt_u (local.tee $t (i32.add (local.get $t) (i32.const 4))) (i32.const 256))))
      (call $add (i32.const 0) (local.get $a))
      (call $add (i32.const 4) (local.get $b))
      (call $add (i32.const 8) (local.get $c))
      (call $add (i32.const 12) (local.get $d))
      (call $add (i32.const 16) (local.get $e))
      (call $add (i32.const 20) (local.get $f))
      (call $add (i32.const 24) (local.get $g))
      (call $add (i32.const 28) (local.get $h))
      (br_if $block (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $end)))))

  (func (export "adler32") (param $end i32) (result i32)
    (local $at i32) (local $a i32) (local $b i32) (local $stop i32)
    (local.set $at (i32.const 1024))
    (local.set $a (i32.const 1))
    (block $done
      (loop $part
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; So many at a time that the sums fit.
        (local.set $stop (i32.add (local.get $at) (i32.const 4096)))
        (if (i32.gt_u (local.get $stop) (local.get $end)) (then (local.set $stop (local.get $end))))
        (loop $next
          (local.set $a (i32.add (local.get $a) (i32.load8_u (local.get $at))))
          (local.set $b (i32.add (local.get $b) (local.get $a)))
          (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $stop))))
        (local.set $a (i32.rem_u (local.get $a) (i32.const 65521)))
        (local.set $b (i32.rem_u (local.get $b) (i32.const 65521)))
        (br $part)))
    (i32.or (i32.shl (local.get $b) (i32.const 16)) (local.get $a)))
)
